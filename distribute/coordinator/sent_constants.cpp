#include "cohort/distribute/coordinator/sent_constants.h"

#include "cohort/distribute/protocol/messages.pb.h"

namespace cohort::distribute {

void SentConstants::attach(const ConstantTable& constants, proto::ConstantsProto& names, Tensors& parts) const {
  Tensors attached;
  for (const auto& [hash, value] : constants.tensors) {
    if (hashes_.contains(hash)) continue;
    names.add_hashes(hash);
    attached.push_back(value.to_host());
  }
  parts.insert(parts.begin(), attached.begin(), attached.end());
}

void SentConstants::note(const proto::ConstantsProto& names) {
  hashes_.insert(names.hashes().begin(), names.hashes().end());
}

}  // namespace cohort::distribute
