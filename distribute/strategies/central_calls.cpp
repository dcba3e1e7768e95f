#include "cohort/distribute/strategies/central_calls.h"

#include <utility>

namespace cohort::distribute {

void CentralCalls::begin() {
  std::lock_guard lock(mutex_);
  part_ = nullptr;
  serves_ = true;
  running_ = replicas_;
}

void CentralCalls::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return part_ || running_ == 0; });
    if (!part_) return;
    lock.unlock();
    try {
      part_();
    } catch (...) {
      {
        std::lock_guard failed(mutex_);
        serves_ = false;
      }
      changed_.notify_all();
      throw;
    }
    lock.lock();
    part_ = nullptr;
    changed_.notify_all();
  }
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
  changed_.wait(lock, [&] { return !part_ || !serves_; });
}

void CentralCalls::leave() {
  {
    std::lock_guard lock(mutex_);
    --running_;
  }
  changed_.notify_all();
}

}  // namespace cohort::distribute
