#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cohort/distribute/coordinator/closure_queue.h"
#include "cohort/distribute/coordinator/pipeline_book.h"
#include "cohort/distribute/coordinator/stuck_watch.h"
#include "cohort/distribute/coordinator/worker_link.h"
#include "cohort/distribute/coordinator/worker_watch.h"

namespace cohort::distribute {

struct ClosureDispatcherOptions {
  std::size_t in_flight = 3;  // closures in flight on one worker, so that it never waits for the next
  // How long the queue waits when no worker at all can be reached.
  std::chrono::milliseconds worker_timeout{60'000};
  // Between two attempts to reach a lost worker; doubles from the first to the last.
  std::chrono::milliseconds first_backoff{100};
  std::chrono::milliseconds last_backoff{1000};
  StuckWatchOptions stuck = {};
};

// Threads that carry closures from a queue to workers, one thread for each worker, until it is destroyed: then the
// queue is stopped and what is in flight is told to end.
class ClosureDispatcher {
 public:
  ClosureDispatcher(ClosureQueue& queue, PipelineBook& pipelines, std::vector<std::shared_ptr<WorkerLink>> links,
                    ClosureDispatcherOptions options = {});
  ~ClosureDispatcher();
  ClosureDispatcher(const ClosureDispatcher&) = delete;

  // One more worker, whose number is the next.
  void add(std::shared_ptr<WorkerLink> link);
  // A worker is somebody else by now: what it has goes to others.
  void abandon(int worker, const std::string& why);
  std::size_t reachable() const { return watch_.reachable(); }
  // Closures that each worker has.
  std::vector<std::size_t> in_flight() const;

 private:
  void cancel_links();
  void start_thread(int worker, const std::shared_ptr<WorkerLink>& link);
  std::vector<std::shared_ptr<WorkerLink>> links() const;

  ClosureQueue& queue_;
  PipelineBook& pipelines_;
  const ClosureDispatcherOptions options_;
  mutable std::mutex mutex_;  // guards links_ and threads_
  std::vector<std::shared_ptr<WorkerLink>> links_;
  WorkerWatch watch_;
  std::vector<std::thread> threads_;
  std::unique_ptr<StuckWatch> stuck_watch_;
};

}  // namespace cohort::distribute
