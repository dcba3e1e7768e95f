#pragma once

#include <span>

#include "cohort/core/op.h"

namespace cohort::kernels {

// Whether a call of this op may become an instruction of a FusedElementwise node: it is in the functor table (or is
// Select or Cast) and takes these inputs.
bool fusible(const OpDef& op, std::span<const TensorSpec> inputs);

}  // namespace cohort::kernels
