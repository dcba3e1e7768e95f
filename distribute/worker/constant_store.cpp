#include "cohort/distribute/worker/constant_store.h"

#include "cohort/distribute/protocol/messages.pb.h"

namespace cohort::distribute {

std::size_t ConstantStore::take(const proto::ConstantsProto& sent, const Tensors& parts) {
  const auto count = static_cast<std::size_t>(sent.hashes_size());
  if (count > parts.size()) {
    throw Error(ErrorCode::DataLoss, "Server", "a message must bring the constants it names",
                {{"constants", count}, {"parts", parts.size()}});
  }
  std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& hash = sent.hashes(static_cast<int>(i));
    if (!constants_.find(hash)) constants_.tensors.emplace_back(hash, parts[i]);
  }
  return count;
}

ConstantTable ConstantStore::table() const {
  std::lock_guard lock(mutex_);
  return constants_;
}

}  // namespace cohort::distribute
