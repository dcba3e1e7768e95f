#include "cohort/distribute/protocol/attached_constants.h"

#include "cohort/distribute/protocol/messages.pb.h"
#include "cohort/graph/graph.h"

namespace cohort::distribute {

void attach_all(const ConstantTable& constants, proto::ConstantsProto& names, Tensors& parts) {
  Tensors attached;
  for (const auto& [hash, value] : constants.tensors) {
    names.add_hashes(hash);
    attached.push_back(value.to_host());
  }
  parts.insert(parts.begin(), attached.begin(), attached.end());
}

}  // namespace cohort::distribute
