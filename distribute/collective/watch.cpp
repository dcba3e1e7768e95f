#include "cohort/distribute/collective/watch.h"

namespace cohort::distribute::collective {

bool Watch::end(const Error& why) {
  {
    std::lock_guard lock(mutex_);
    if (why_) return false;
    why_ = why;
    ended_ = true;
  }
  if (wake_) wake_();
  return true;
}

void Watch::throw_if_ended() const {
  if (!ended_) return;
  std::lock_guard lock(mutex_);
  throw Error(*why_);
}

void Watch::check(const std::string& peer, Deadline deadline) const {
  throw_if_ended();
  if (look_) look_();
  if (std::chrono::steady_clock::now() >= deadline) {
    throw Error(ErrorCode::DeadlineExceeded, "Communicator", "every worker must come to a call within the timeout",
                {{"awaited", peer}}, "See what keeps it, or give options.timeout more time.");
  }
}

}  // namespace cohort::distribute::collective
