#include "cohort/distribute/coordinator/cluster_runtime.h"

#include "cohort/distribute/coordinator/function_registration.h"
#include "cohort/distribute/coordinator/per_worker_dataset.h"
#include "cohort/distribute/coordinator/remote_worker.h"

namespace cohort::distribute {
namespace {

std::vector<std::shared_ptr<WorkerLink>> make_links(const std::shared_ptr<TaskConnections>& connections,
                                                    const std::shared_ptr<const PipelineDatasets>& datasets) {
  std::vector<std::shared_ptr<WorkerLink>> links;
  for (int worker = 0; worker < connections->num_workers(); ++worker) {
    links.push_back(std::make_shared<RemoteWorker>(connections, datasets, worker));
  }
  return links;
}

std::int64_t pulls_per_step(const Closure& closure, std::size_t index) {
  return closure.function->pulls_of(static_cast<int>(index));
}

}  // namespace

ClusterRuntime::ClusterRuntime(ClusterSpec spec, ClusterRuntimeOptions options)
    : connections_(std::make_shared<TaskConnections>(std::move(spec), std::move(options.connections))),
      queue_(options.queue),
      pipelines_(connections_->num_workers(), pulls_per_step),
      dispatcher_(queue_, pipelines_, make_links(connections_, datasets_), options.dispatch) {}

int ClusterRuntime::add_dataset(std::vector<Dataset> pipelines, const std::vector<std::string>& beginnings) {
  const std::vector<std::int64_t> sizes = cardinalities(pipelines);
  std::lock_guard lock(mutex_);
  const int number = datasets_->add(std::move(pipelines), beginnings);
  if (pipelines_.add(sizes) != number) {
    throw internal_error("ClusterCoordinator", "datasets must be counted alike everywhere", {{"dataset", number}});
  }
  return number;
}

std::shared_ptr<const PlacedFunction> ClusterRuntime::place(const std::shared_ptr<const Graph>& graph,
                                                            const std::function<FunctionDescription()>& describe) {
  std::lock_guard lock(mutex_);
  Known& known = functions_[graph.get()];
  if (!known.function) {
    const auto function =
        std::make_shared<PlacedFunction>(connections_->next_number(), describe(), connections_->ps_addresses());
    register_on_ps(*function, *connections_);
    known = {graph, function};
  }
  return known.function;
}

}  // namespace cohort::distribute
