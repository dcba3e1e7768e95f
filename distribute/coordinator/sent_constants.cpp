#include "cohort/distribute/coordinator/sent_constants.h"

#include "cohort/distribute/protocol/messages.pb.h"

namespace cohort::distribute {

void SentConstants::attach(const ConstantTable& constants, proto::ConstantsProto& names, rpc::Message& message) {
  Tensors parts;
  for (const auto& [hash, value] : constants.tensors) {
    if (!hashes_.insert(hash).second) continue;
    names.add_hashes(hash);
    parts.push_back(value.to_host());
  }
  message.parts.insert(message.parts.begin(), parts.begin(), parts.end());
}

}  // namespace cohort::distribute
