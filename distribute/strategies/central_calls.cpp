#include "cohort/distribute/strategies/central_calls.h"

#include <utility>

namespace cohort::distribute {

void CentralCalls::begin() {
  std::lock_guard lock(mutex_);
  part_ = nullptr;
  error_ = nullptr;
  running_ = replicas_;
}

void CentralCalls::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return part_ || running_ == 0; });
    if (!part_) break;
    lock.unlock();
    try {
      part_();
    } catch (...) {
      fail(std::current_exception());
    }
    lock.lock();
    part_ = nullptr;
    changed_.notify_all();
  }
  if (error_) std::rethrow_exception(error_);
}

void CentralCalls::fail(const std::exception_ptr& error) {
  {
    std::lock_guard lock(mutex_);
    error_ = error;
  }
  group_.abort(ReplicaGroup::reason_of(replicas_, error));
}

void CentralCalls::give(std::function<void()> part) {
  {
    std::lock_guard lock(mutex_);
    part_ = std::move(part);
  }
  changed_.notify_all();
}

void CentralCalls::await() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !part_; });
  if (error_) std::rethrow_exception(error_);
}

void CentralCalls::leave() {
  {
    std::lock_guard lock(mutex_);
    --running_;
  }
  changed_.notify_all();
}

}  // namespace cohort::distribute
