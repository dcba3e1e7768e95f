#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "cohort/distribute/coordinator/closure_dispatcher.h"
#include "cohort/distribute/coordinator/closure_queue.h"
#include "cohort/distribute/coordinator/cluster_dataset.h"
#include "cohort/distribute/coordinator/cluster_figures.h"
#include "cohort/distribute/coordinator/cluster_trace.h"
#include "cohort/distribute/coordinator/member_watch.h"
#include "cohort/distribute/coordinator/pipeline_book.h"
#include "cohort/distribute/coordinator/pipeline_datasets.h"
#include "cohort/distribute/coordinator/placed_function.h"
#include "cohort/distribute/coordinator/task_connections.h"
#include "cohort/distribute/coordinator/worker_replicas.h"

namespace cohort::distribute {

struct ClusterRuntimeOptions {
  TaskConnectionOptions connections = {};
  ClosureQueueOptions queue = {};
  ClosureDispatcherOptions dispatch = {};
  // Where workers may join: pipelines that a dataset is divided into by its creator or by files, however many workers
  // there are; 0: 8, or as many as workers at the start where those are more.
  int input_pipelines = 0;
};

// All that a parameter-server strategy holds of its cluster, shared by its runners and coordinators: closures go into
// the queue, whichever worker is free runs them, again when a worker dies. Thread-safe.
class ClusterRuntime {
 public:
  explicit ClusterRuntime(ClusterSpec spec, ClusterRuntimeOptions options = {});

  const std::shared_ptr<TaskConnections>& connections() const { return connections_; }
  ClosureQueue& queue() { return queue_; }
  PipelineBook& pipelines() { return *pipelines_; }
  ClusterFigures& figures() { return figures_; }
  ClusterTrace& trace() { return trace_; }
  // The replicas on each worker's devices; nullptr where it has one device.
  const WorkerReplicas* replicas() const { return replicas_.get(); }
  // Pipelines that a dataset which is divided for the workers gets.
  int input_pipelines() const { return input_pipelines_; }
  // What those are called in errors: "worker:0", or "input pipeline 0" where they are not the workers'.
  std::vector<std::string> pipeline_names(std::int64_t pipelines) const;
  int replicas_per_worker() const { return replicas_ ? replicas_->size() : 1; }
  // A dataset of one pipeline for each entry, for as long as it is kept. Where each pipeline begins may be given.
  std::shared_ptr<const ClusterDataset> add_dataset(std::vector<Dataset> pipelines,
                                                    const std::vector<std::string>& beginnings = {});
  // Where a pipeline begins: what shuffles it comes from there.
  std::string beginning_of(int dataset, int pipeline) const { return datasets_->beginning_of(dataset, pipeline); }
  // The function that a graph becomes, cut and registered on the ps when it is first asked for; `describe` is called
  // then. Tasks keep it as long as the graph is there or somebody has the function.
  std::shared_ptr<const PlacedFunction> place(const std::shared_ptr<const Graph>& graph,
                                              const std::function<FunctionDescription()>& describe);

 private:
  struct Known {
    std::weak_ptr<const Graph> graph;  // while it is there its address is its name
    std::shared_ptr<const PlacedFunction> function;
  };
  ClusterFigures::Figures own_figures() const;
  void members_changed(const MemberList& list);
  std::shared_ptr<const PlacedFunction> make_function(const FunctionDescription& description);
  const std::shared_ptr<TaskConnections> connections_;
  const std::shared_ptr<PipelineDatasets> datasets_ = std::make_shared<PipelineDatasets>();
  const std::shared_ptr<PipelineBook> pipelines_;
  const std::unique_ptr<const WorkerReplicas> replicas_;
  ClosureQueue queue_;
  std::mutex mutex_;  // guards functions_ and the order of datasets
  std::unordered_map<const Graph*, Known> functions_;
  // Its threads use those before it, and end before the tasks hear that the job has ended.
  ClosureDispatcher dispatcher_;
  ClusterTrace trace_;
  ClusterFigures figures_;
  const int input_pipelines_;
  std::unique_ptr<MemberWatch> member_watch_;  // uses all before it
};

}  // namespace cohort::distribute
