#include "cohort/distribute/coordinator/cluster_runtime.h"

#include "cohort/distribute/coordinator/per_worker_dataset.h"

namespace cohort::distribute {

ClusterRuntime::ClusterRuntime(ClusterSpec spec, ClusterOptions options, CoordinatorOptions coordinator)
    : cluster_(std::make_shared<Cluster>(std::move(spec), std::move(options))), coordinator_options_(coordinator) {}

// Closures end before the tasks are told that the job has.
ClusterRuntime::~ClusterRuntime() { coordinator_.reset(); }

Coordinator& ClusterRuntime::coordinator() {
  std::lock_guard lock(mutex_);
  if (!coordinator_) {
    std::vector<std::shared_ptr<WorkerLink>> links;
    for (int worker = 0; worker < cluster_->num_workers(); ++worker) {
      links.push_back(std::make_shared<RemoteWorker>(cluster_, datasets_, worker));
    }
    const auto pulls = [](const Closure& closure, std::size_t index) {
      return static_cast<std::int64_t>(closure.function->pulls_of(static_cast<int>(index)));
    };
    coordinator_ = std::make_unique<Coordinator>(std::move(links), pulls, coordinator_options_);
  }
  return *coordinator_;
}

int ClusterRuntime::add_dataset(std::vector<Dataset> pipelines, const std::vector<std::string>& beginnings) {
  Coordinator& all = coordinator();
  const std::vector<std::int64_t> sizes = cardinalities(pipelines);
  std::lock_guard lock(mutex_);
  const int number = datasets_->add(std::move(pipelines), beginnings);
  if (all.pipelines().add(sizes) != number) {
    throw internal_error("ClusterCoordinator", "datasets must be counted alike everywhere", {{"dataset", number}});
  }
  return number;
}

std::shared_ptr<const PlacedFunction> ClusterRuntime::place(
    const std::shared_ptr<const Graph>& graph, const std::function<std::shared_ptr<PlacedFunction>()>& make) {
  std::lock_guard lock(mutex_);
  Known& known = functions_[graph.get()];
  if (!known.function) known = {graph, make()};
  return known.function;
}

}  // namespace cohort::distribute
