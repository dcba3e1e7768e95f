#pragma once

#include "cohort/core/tensor.h"

namespace cohort {
struct ConstantTable;
}
namespace cohort::proto {
class ConstantsProto;
}

namespace cohort::distribute {

// Names the constants of a request whose graphs are gone with its reply: all of them come along, before its other
// parts.
void attach_all(const ConstantTable& constants, proto::ConstantsProto& names, Tensors& parts);

}  // namespace cohort::distribute
