#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "cohort/distribute/coordinator/closure_queue.h"
#include "cohort/distribute/coordinator/straggler_watch.h"
#include "cohort/distribute/coordinator/worker_link.h"

namespace cohort::distribute {

struct StuckWatchOptions {
  // Without a step begun or a result: then the worker is named in the log, and then it is lost.
  std::chrono::milliseconds named_after{8000};
  std::chrono::milliseconds stuck_after{300'000};
  // The latter while work is cancelled, which waits for every worker.
  std::chrono::milliseconds stuck_in_cancel_after{5000};
  std::chrono::milliseconds pause{500};
  StragglerWatchOptions stragglers = {};
};

// A thread that looks whether workers get on with what they were given, however alive they are, and as fast as others.
class StuckWatch {
 public:
  StuckWatch(std::vector<std::shared_ptr<WorkerLink>> links, const ClosureQueue& queue, StuckWatchOptions options);
  ~StuckWatch();
  StuckWatch(const StuckWatch&) = delete;
  // One more worker.
  void add(std::shared_ptr<WorkerLink> link);

 private:
  using Clock = std::chrono::steady_clock;
  // What was seen of a worker when it last moved.
  struct Seen {
    std::optional<std::uint64_t> movement;
    Clock::time_point since;
    bool named = false;
  };
  void run();
  void look_at(WorkerLink& link, Seen& seen) const;
  void look_for_stragglers(const std::vector<std::shared_ptr<WorkerLink>>& links);

  const ClosureQueue& queue_;
  const StuckWatchOptions options_;
  StragglerWatch stragglers_;
  std::mutex mutex_;  // guards what follows
  std::vector<std::shared_ptr<WorkerLink>> links_;
  std::condition_variable stop_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace cohort::distribute
