#include "cohort/distribute/collective/replica_turns.h"

namespace cohort::distribute {

void ReplicaTurns::begin(int replica) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return begun_ == replica && !taken_; });
  taken_ = true;
  ++begun_;
}

void ReplicaTurns::take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !taken_; });
  taken_ = true;
}

void ReplicaTurns::give() {
  {
    std::lock_guard lock(mutex_);
    taken_ = false;
  }
  changed_.notify_all();
}

}  // namespace cohort::distribute
