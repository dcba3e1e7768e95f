#include "cohort/distribute/worker/applied_bundles.h"

#include "cohort/core/error.h"

namespace cohort::distribute {
namespace {

std::size_t position(std::uint64_t step, std::uint32_t round) {
  if (step >= AppliedBundles::kMostSteps || round >= AppliedBundles::kMostRounds) {
    throw invalid_argument("Server", "a closure has at most 2^20 steps of 64 rounds",
                           {{"step", step}, {"round", round}});
  }
  return static_cast<std::size_t>(step * AppliedBundles::kMostRounds + round);
}

}  // namespace

AppliedBundles::Entry& AppliedBundles::entry_of(std::uint64_t closure) {
  for (Entry& entry : open_) {
    if (entry.closure == closure) return entry;
  }
  if (spare_.empty()) {
    open_.emplace_back();
  } else {
    open_.push_back(std::move(spare_.back()));
    spare_.pop_back();
  }
  open_.back().closure = closure;
  return open_.back();
}

bool AppliedBundles::insert(std::uint64_t closure, std::uint64_t step, std::uint32_t round) {
  const std::size_t at = position(step, round);
  if (closure < finished_below_) return false;
  std::vector<bool>& bundles = entry_of(closure).bundles;
  if (bundles.size() <= at) bundles.resize(at + 1);
  if (bundles[at]) return false;
  bundles[at] = true;
  return true;
}

void AppliedBundles::erase(std::uint64_t closure, std::uint64_t step, std::uint32_t round) {
  if (closure >= finished_below_) entry_of(closure).bundles.at(position(step, round)) = false;
}

void AppliedBundles::forget_below(std::uint64_t closure) {
  if (closure <= finished_below_) return;
  finished_below_ = closure;
  for (std::size_t i = 0; i < open_.size();) {
    if (open_[i].closure >= closure) {
      ++i;
      continue;
    }
    open_[i].bundles.clear();
    spare_.push_back(std::move(open_[i]));
    if (i + 1 != open_.size()) open_[i] = std::move(open_.back());
    open_.pop_back();
  }
}

}  // namespace cohort::distribute
