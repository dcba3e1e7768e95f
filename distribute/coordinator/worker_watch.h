#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/error.h"

namespace cohort::distribute {

// Which workers can be reached, and since when none can. Thread-safe.
class WorkerWatch {
 public:
  WorkerWatch(std::vector<std::string> tasks, std::chrono::milliseconds timeout);

  // One more, which can be reached until it is lost.
  void add(const std::string& task);
  void lost(int worker, const std::string& why);
  void back(int worker);
  std::size_t reachable() const;
  // The error to throw once none has been reachable for the timeout; then again after as long.
  std::optional<Error> timed_out();
  // False when stop() was called, before or meanwhile.
  bool sleep(std::chrono::milliseconds duration);
  void stop();

 private:
  using Clock = std::chrono::steady_clock;

  const std::chrono::milliseconds timeout_;
  mutable std::mutex mutex_;
  std::condition_variable stopping_;
  bool stopped_ = false;
  std::vector<std::string> tasks_;
  std::vector<std::string> why_;  // empty: the worker can be reached
  std::size_t reachable_;
  Clock::time_point none_since_;     // when the last one was lost
  Clock::time_point timeout_since_;  // from when on the timeout counts
};

}  // namespace cohort::distribute
