#pragma once

#include <signal.h>

#include <atomic>
#include <functional>
#include <thread>

namespace cohort::programs {

// Calls a function, from a thread of its own, when SIGINT or SIGTERM comes. To be made before any other thread starts:
// all of them then leave these signals alone.
class StopOnSignal {
 public:
  StopOnSignal();
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  // Once; what `stop` uses must live as long as this.
  void watch(std::function<void()> stop);

 private:
  sigset_t signals_;
  sigset_t before_;
  std::atomic<bool> ended_ = false;
  std::thread waiter_;
};

}  // namespace cohort::programs
