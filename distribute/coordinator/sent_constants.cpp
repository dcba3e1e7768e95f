#include "cohort/distribute/coordinator/sent_constants.h"

#include "cohort/distribute/protocol/attached_constants.h"
#include "cohort/distribute/protocol/messages.pb.h"

namespace cohort::distribute {

void SentConstants::attach(const ConstantTable& constants, proto::ConstantsProto& names, Tensors& parts) const {
  ConstantTable lacking;
  for (const auto& [hash, value] : constants.tensors) {
    if (users_of_.contains(hash)) {
      names.add_known(hash);
    } else {
      lacking.tensors.emplace_back(hash, value);
    }
  }
  attach_all(lacking, names, parts);
}

void SentConstants::note(const User& user, const proto::ConstantsProto& names) {
  if (const auto before = named_by_.find(user); before != named_by_.end()) release(before);
  std::vector<std::string> hashes(names.hashes().begin(), names.hashes().end());
  hashes.insert(hashes.end(), names.known().begin(), names.known().end());
  for (const std::string& hash : hashes) ++users_of_[hash];
  named_by_.emplace(user, std::move(hashes));
}

SentConstants::Users::iterator SentConstants::release(Users::iterator user) {
  for (const std::string& hash : user->second) {
    const auto found = users_of_.find(hash);
    if (--found->second == 0) users_of_.erase(found);
  }
  return named_by_.erase(user);
}

void SentConstants::release_function(std::uint64_t handle) {
  if (const auto user = named_by_.find({handle, kFunction}); user != named_by_.end()) release(user);
}

void SentConstants::release_dataset(int dataset) {
  const auto number = static_cast<std::uint64_t>(dataset);
  auto user = named_by_.lower_bound({number, 0});
  while (user != named_by_.end() && user->first.first == number) user = release(user);
}

void SentConstants::clear() {
  users_of_.clear();
  named_by_.clear();
}

}  // namespace cohort::distribute
