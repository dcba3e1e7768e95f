#pragma once

#include <functional>
#include <thread>

namespace cohort::programs {

// Calls a function, from a thread of its own, when SIGINT or SIGTERM comes. One at a time in a process.
class StopOnSignal {
 public:
  // What `stop` uses must live as long as this.
  explicit StopOnSignal(std::function<void()> stop);
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;

 private:
  std::thread waiter_;
};

}  // namespace cohort::programs
