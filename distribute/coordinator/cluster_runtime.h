#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "cohort/distribute/coordinator/cluster.h"
#include "cohort/distribute/coordinator/coordinator.h"
#include "cohort/distribute/coordinator/placed_function.h"
#include "cohort/distribute/coordinator/remote_worker.h"

namespace cohort::distribute {

// All that a parameter-server strategy holds of its cluster, shared by its runners and coordinators. Thread-safe.
class ClusterRuntime {
 public:
  ClusterRuntime(ClusterSpec spec, ClusterOptions options, CoordinatorOptions coordinator = {});
  ~ClusterRuntime();

  const std::shared_ptr<Cluster>& cluster() const { return cluster_; }
  Coordinator& coordinator();
  // A dataset of one pipeline for each entry; what closures call it by. Where each pipeline begins may be given.
  int add_dataset(std::vector<Dataset> pipelines, const std::vector<std::string>& beginnings = {});
  // Where a pipeline begins: what shuffles it comes from there.
  std::string beginning_of(int dataset, int pipeline) const { return datasets_->find(dataset, pipeline).beginning; }
  // The function made for a graph, by `make` when it is first asked for.
  std::shared_ptr<const PlacedFunction> place(const std::shared_ptr<const Graph>& graph,
                                              const std::function<std::shared_ptr<PlacedFunction>()>& make);

 private:
  struct Known {
    std::shared_ptr<const Graph> graph;  // kept, so that its address stays its name
    std::shared_ptr<const PlacedFunction> function;
  };
  std::shared_ptr<Cluster> cluster_;
  const CoordinatorOptions coordinator_options_;
  std::shared_ptr<PipelineDatasets> datasets_ = std::make_shared<PipelineDatasets>();
  std::mutex mutex_;  // guards what follows
  std::unordered_map<const Graph*, Known> functions_;
  std::unique_ptr<Coordinator> coordinator_;
};

}  // namespace cohort::distribute
