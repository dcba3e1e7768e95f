#include "cohort/distribute/worker/constant_store.h"

#include <algorithm>

#include "cohort/distribute/protocol/messages.pb.h"

namespace cohort::distribute {

HeldConstants ConstantStore::take(const proto::ConstantsProto& named, const Tensors& parts) {
  HeldConstants constants;
  constants.attached = static_cast<std::size_t>(named.hashes_size());
  if (constants.attached > parts.size()) {
    throw Error(ErrorCode::DataLoss, "Server", "a message must bring the constants it names",
                {{"constants", constants.attached}, {"parts", parts.size()}});
  }
  if (named.hashes_size() + named.known_size() == 0) return constants;
  const auto hold = [&](const std::string& hash, std::shared_ptr<const Tensor> value) {
    constants.table.tensors.emplace_back(hash, *value);
    constants.held.push_back(std::move(value));
  };
  std::lock_guard lock(mutex_);
  if (named.hashes_size() > 0) {
    std::erase_if(constants_, [](const auto& entry) { return entry.second.expired(); });
  }
  for (std::size_t i = 0; i < constants.attached; ++i) {
    const std::string& hash = named.hashes(static_cast<int>(i));
    std::weak_ptr<const Tensor>& place = constants_[hash];
    std::shared_ptr<const Tensor> value = place.lock();
    if (!value) place = value = std::make_shared<const Tensor>(parts[i]);
    hold(hash, std::move(value));
  }
  for (const std::string& hash : named.known()) {
    const auto found = constants_.find(hash);
    std::shared_ptr<const Tensor> value = found == constants_.end() ? nullptr : found->second.lock();
    if (!value) {
      throw Error(ErrorCode::DataLoss, "Server", "a message names constants that came before it or with it",
                  {{"constant", hash}});
    }
    hold(hash, std::move(value));
  }
  return constants;
}

std::size_t ConstantStore::size() const {
  std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(constants_.begin(), constants_.end(), [](const auto& entry) { return !entry.second.expired(); }));
}

}  // namespace cohort::distribute
