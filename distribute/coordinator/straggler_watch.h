#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cohort/distribute/coordinator/worker_link.h"

namespace cohort::distribute {

struct StragglerWatchOptions {
  // What a worker does in so long is compared with what others do.
  std::chrono::milliseconds window{5000};
  // A straggler's steps take at least so many times the median, in two windows one after the other.
  double factor = 2.0;
  // And longer by at least this.
  std::chrono::microseconds least{1000};
};

// Finds workers whose steps take much longer than those of the others. Used by one thread at a time.
class StragglerWatch {
 public:
  using Clock = std::chrono::steady_clock;
  StragglerWatch(std::vector<std::string> tasks, StragglerWatchOptions options);
  std::size_t size() const { return workers_.size(); }
  // One more worker.
  void add(std::string task) { workers_.push_back({.task = std::move(task)}); }
  // Told now and then what each worker has done so far; returns a line for each that has turned out to be a straggler,
  // which happens to a worker once.
  std::vector<std::string> look(const std::vector<StepTimes>& times, Clock::time_point now);

 private:
  struct Worker {
    std::string task;
    StepTimes before = {};  // when the window began
    bool slow = false;      // in the last one
    bool named = false;
  };
  const StragglerWatchOptions options_;
  std::vector<Worker> workers_;
  Clock::time_point since_{};
};

}  // namespace cohort::distribute
