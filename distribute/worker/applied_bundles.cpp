#include "cohort/distribute/worker/applied_bundles.h"

#include <algorithm>
#include <utility>

#include "cohort/core/error.h"

namespace cohort::distribute {
namespace {

constexpr std::size_t kSpareBlocks = 16;

void check_bundle(std::uint64_t step, std::uint32_t round) {
  if (step >= AppliedBundles::kMostSteps || round >= AppliedBundles::kMostRounds) {
    throw invalid_argument("Server", "a closure has at most 2^20 steps of 64 rounds",
                           {{"step", step}, {"round", round}});
  }
}

}  // namespace

std::vector<AppliedBundles::Rounds>& AppliedBundles::steps_of(std::uint64_t closure) {
  if (closure - finished_below_ >= kMostClosures) {
    throw Error(ErrorCode::ResourceExhausted, "Server",
                "at most 2^24 closures may be under way beside the oldest that has not finished",
                {{"closure", closure}, {"finished below", finished_below_}});
  }
  const auto index = static_cast<std::size_t>(closure / kBlockClosures - finished_below_ / kBlockClosures);
  if (blocks_.size() <= index) blocks_.resize(index + 1);
  std::unique_ptr<Block>& block = blocks_[index];
  if (!block && spare_.empty()) {
    block = std::make_unique<Block>();
  } else if (!block) {
    block = std::move(spare_.back());
    spare_.pop_back();
  }
  return (*block)[closure % kBlockClosures];
}

bool AppliedBundles::insert(std::uint64_t closure, std::uint64_t step, std::uint32_t round) {
  check_bundle(step, round);
  if (closure < finished_below_) return false;
  std::vector<Rounds>& steps = steps_of(closure);
  if (steps.size() <= step) {
    const std::uint64_t more = step + 1 - steps.size();
    if (steps_kept_ + more > kMostStepsKept) {
      throw Error(ErrorCode::ResourceExhausted, "Server",
                  "at most 2^24 steps may be known of closures that have not finished",
                  {{"closure", closure}, {"step", step}, {"finished below", finished_below_}});
    }
    steps.resize(static_cast<std::size_t>(step + 1));
    steps_kept_ += more;
  }
  Rounds& rounds = steps[static_cast<std::size_t>(step)];
  const Rounds bit = Rounds{1} << round;
  if (rounds & bit) return false;
  rounds |= bit;
  return true;
}

void AppliedBundles::erase(std::uint64_t closure, std::uint64_t step, std::uint32_t round) {
  check_bundle(step, round);
  if (closure >= finished_below_) steps_of(closure).at(static_cast<std::size_t>(step)) &= ~(Rounds{1} << round);
}

void AppliedBundles::forget_below(std::uint64_t closure) {
  if (closure <= finished_below_) return;
  const std::uint64_t passed = closure / kBlockClosures - finished_below_ / kBlockClosures;
  for (std::uint64_t i = 0; i < passed && !blocks_.empty(); ++i) {
    recycle(std::move(blocks_.front()));
    blocks_.pop_front();
  }
  finished_below_ = closure;
}

void AppliedBundles::recycle(std::unique_ptr<Block> block) {
  if (!block) return;
  for (std::vector<Rounds>& steps : *block) {
    steps_kept_ -= steps.size();
    steps.clear();
  }
  if (spare_.size() < kSpareBlocks) spare_.push_back(std::move(block));
}

}  // namespace cohort::distribute
