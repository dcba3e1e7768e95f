#include "cohort/distribute/coordinator/sent_constants.h"

#include "cohort/distribute/protocol/messages.pb.h"

namespace cohort::distribute {

void SentConstants::attach(const ConstantTable& constants, proto::ConstantsProto& names, Tensors& parts) {
  Tensors attached;
  for (const auto& [hash, value] : constants.tensors) {
    if (!hashes_.insert(hash).second) continue;
    names.add_hashes(hash);
    attached.push_back(value.to_host());
  }
  parts.insert(parts.begin(), attached.begin(), attached.end());
}

}  // namespace cohort::distribute
