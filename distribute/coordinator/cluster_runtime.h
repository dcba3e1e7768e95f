#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "cohort/distribute/coordinator/closure_dispatcher.h"
#include "cohort/distribute/coordinator/closure_queue.h"
#include "cohort/distribute/coordinator/pipeline_book.h"
#include "cohort/distribute/coordinator/pipeline_datasets.h"
#include "cohort/distribute/coordinator/placed_function.h"
#include "cohort/distribute/coordinator/task_connections.h"

namespace cohort::distribute {

struct ClusterRuntimeOptions {
  TaskConnectionOptions connections = {};
  ClosureQueueOptions queue = {};
  ClosureDispatcherOptions dispatch = {};
};

// All that a parameter-server strategy holds of its cluster, shared by its runners and coordinators: closures go into
// the queue, whichever worker is free runs them, again when a worker dies. Thread-safe.
class ClusterRuntime {
 public:
  explicit ClusterRuntime(ClusterSpec spec, ClusterRuntimeOptions options = {});

  const std::shared_ptr<TaskConnections>& connections() const { return connections_; }
  ClosureQueue& queue() { return queue_; }
  PipelineBook& pipelines() { return pipelines_; }
  // A dataset of one pipeline for each entry; what closures call it by. Where each pipeline begins may be given.
  int add_dataset(std::vector<Dataset> pipelines, const std::vector<std::string>& beginnings = {});
  // Where a pipeline begins: what shuffles it comes from there.
  std::string beginning_of(int dataset, int pipeline) const { return datasets_->find(dataset, pipeline).beginning; }
  // The function that a graph becomes, cut and registered on the ps when it is first asked for; `describe` is called
  // then.
  std::shared_ptr<const PlacedFunction> place(const std::shared_ptr<const Graph>& graph,
                                              const std::function<FunctionDescription()>& describe);

 private:
  struct Known {
    std::shared_ptr<const Graph> graph;  // kept, so that its address stays its name
    std::shared_ptr<const PlacedFunction> function;
  };
  const std::shared_ptr<TaskConnections> connections_;
  const std::shared_ptr<PipelineDatasets> datasets_ = std::make_shared<PipelineDatasets>();
  ClosureQueue queue_;
  PipelineBook pipelines_;
  std::mutex mutex_;  // guards functions_ and the order of datasets
  std::unordered_map<const Graph*, Known> functions_;
  // Last: its threads use the others, and end before the tasks hear that the job has ended.
  ClosureDispatcher dispatcher_;
};

}  // namespace cohort::distribute
