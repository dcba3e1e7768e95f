#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cohort/distribute/coordinator/closure.h"
#include "cohort/distribute/coordinator/closure_queue.h"
#include "cohort/distribute/coordinator/dispatcher.h"
#include "cohort/distribute/coordinator/pipeline_book.h"
#include "cohort/distribute/coordinator/remote_value.h"

namespace cohort::distribute {

struct CoordinatorOptions {
  ClosureQueueOptions queue = {};
  DispatcherOptions dispatch = {};
};

// What is behind ClusterCoordinator and behind fit on parameter servers: closures go in, whichever worker is free runs
// them, again when a worker dies. Thread-safe.
class Coordinator {
 public:
  Coordinator(std::vector<std::shared_ptr<WorkerLink>> links, PullsPerStep pulls, CoordinatorOptions options = {});

  // Queues a closure and returns at once unless the queue is full or somebody joins; throws the first error of an
  // earlier one, and has then not queued this one.
  void submit(Closure closure);
  // The same; its outputs arrive in the value once `done` has accepted them.
  RemoteValue schedule(Closure closure);
  // Until everything has run; throws the first error.
  void join() { queue_.wait(); }
  // True when everything has run; throws the first error.
  bool done() { return queue_.done(); }
  // Drops what has not started, with Cancelled; what has goes on.
  void drop() { queue_.drop(); }
  // Drops what has not started, makes what has end soon, both with Cancelled, and waits for that.
  void cancel() { queue_.cancel(); }

  PipelineBook& pipelines() { return pipelines_; }
  // "worker:0", ..., in the order of the links.
  const std::vector<std::string>& workers() const { return workers_; }
  std::size_t reachable_workers() const { return dispatcher_.reachable(); }

 private:
  std::vector<std::string> workers_;
  ClosureQueue queue_;
  PipelineBook pipelines_;
  Dispatcher dispatcher_;  // last: its threads use the others
};

}  // namespace cohort::distribute
