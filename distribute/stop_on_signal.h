#pragma once

#include <functional>

namespace cohort::distribute {

// Calls a function, from a thread of its own, when SIGINT or SIGTERM comes, where the program leaves them to their
// default; a second one of the same kind ends the process. Several may live at once. Thread-safe.
class StopOnSignal {
 public:
  // What `stop` uses must live as long as this.
  explicit StopOnSignal(std::function<void()> stop);
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
};

}  // namespace cohort::distribute
