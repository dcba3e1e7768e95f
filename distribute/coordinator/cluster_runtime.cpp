#include "cohort/distribute/coordinator/cluster_runtime.h"

#include <algorithm>

#include "cohort/core/log.h"
#include "cohort/distribute/cluster/roles.h"
#include "cohort/distribute/coordinator/function_registration.h"
#include "cohort/distribute/coordinator/per_worker_dataset.h"
#include "cohort/distribute/coordinator/remote_worker.h"

namespace cohort::distribute {
namespace {

std::vector<std::shared_ptr<WorkerLink>> make_links(const std::shared_ptr<TaskConnections>& connections,
                                                    const std::shared_ptr<const PipelineDatasets>& datasets) {
  std::vector<std::shared_ptr<WorkerLink>> links;
  for (int worker = 0; worker < connections->num_slots(); ++worker) {
    links.push_back(std::make_shared<RemoteWorker>(connections, datasets, worker));
  }
  return links;
}

std::unique_ptr<const WorkerReplicas> replicas_of(const TaskConnections& connections) {
  const int devices = connections.devices_per_worker();
  return devices > 1 ? std::make_unique<const WorkerReplicas>(devices) : nullptr;
}

int input_pipelines_of(const TaskConnections& connections, int asked) {
  constexpr int kUsually = 8;
  if (!connections.workers_may_join()) return connections.num_workers();
  return asked > 0 ? asked : std::max(kUsually, connections.num_workers());
}

std::int64_t pulls_per_step(const Closure& closure, std::size_t index) {
  return closure.function->pulls_of(static_cast<int>(index));
}

}  // namespace

ClusterRuntime::ClusterRuntime(ClusterSpec spec, ClusterRuntimeOptions options)
    : connections_(std::make_shared<TaskConnections>(std::move(spec), std::move(options.connections))),
      pipelines_(std::make_shared<PipelineBook>(connections_->num_slots(), pulls_per_step)),
      replicas_(replicas_of(*connections_)),
      queue_(options.queue),
      dispatcher_(queue_, *pipelines_, make_links(connections_, datasets_), options.dispatch),
      trace_(connections_->tasks(), connections_->transport(), connections_->job(), connections_->trace_log()),
      figures_(
          connections_->tasks(), connections_->transport(), [this] { return own_figures(); }, connections_->job()),
      input_pipelines_(input_pipelines_of(*connections_, options.input_pipelines)) {
  queue_.set_fence([connections = connections_] { connections->fence(); });
  if (!connections_->workers_may_join()) return;
  pipelines_->set_present(connections_->present());
  member_watch_ = std::make_unique<MemberWatch>(connections_->first_ps(), connections_->transport(),
                                                connections_->member_generation(),
                                                [this](const MemberList& list) { members_changed(list); });
}

void ClusterRuntime::members_changed(const MemberList& list) {
  const std::vector<int> before = connections_->present();
  const int slots = connections_->num_slots();
  const std::vector<int> moved = connections_->set_members(list);
  const std::vector<int> now = connections_->present();
  pipelines_->set_present(now);
  for (const int worker : moved) {
    const rpc::Peer peer = connections_->worker(worker);
    dispatcher_.abandon(worker, peer.task + " is at " + peer.address + " now");
  }
  for (int worker = slots; worker < connections_->num_slots(); ++worker) {
    const rpc::Peer peer = connections_->worker(worker);
    log::info(peer.task + " has joined, at " + peer.address);
    dispatcher_.add(std::make_shared<RemoteWorker>(connections_, datasets_, worker));
  }
  if (now == before && moved.empty()) return;
  figures_.set_tasks(connections_->tasks());
  trace_.set_tasks(connections_->tasks());
}

std::vector<std::string> ClusterRuntime::pipeline_names(std::int64_t pipelines) const {
  std::vector<std::string> names = connections_->worker_names();
  if (pipelines == static_cast<std::int64_t>(names.size()) && !connections_->workers_may_join()) return names;
  names.clear();
  for (std::int64_t i = 0; i < pipelines; ++i) names.push_back("input pipeline " + std::to_string(i));
  return names;
}

std::shared_ptr<const ClusterDataset> ClusterRuntime::add_dataset(std::vector<Dataset> pipelines,
                                                                  const std::vector<std::string>& beginnings) {
  const std::vector<std::int64_t> sizes = cardinalities(pipelines);
  std::lock_guard lock(mutex_);
  const int number = datasets_->add(std::move(pipelines), beginnings);
  if (pipelines_->add(sizes) != number) {
    throw internal_error("ClusterCoordinator", "datasets must be counted alike everywhere", {{"dataset", number}});
  }
  return std::make_shared<const ClusterDataset>(number, pipelines_, datasets_, connections_->releases());
}

ClusterFigures::Figures ClusterRuntime::own_figures() const {
  ClusterFigures::Figures figures = {{"queue_depth/chief", static_cast<double>(queue_.waiting())}};
  const std::vector<std::size_t> in_flight = dispatcher_.in_flight();
  for (std::size_t i = 0; i < in_flight.size(); ++i) {
    const std::string worker = "/worker_" + connections_->worker(static_cast<int>(i)).task.substr(kWorker.size() + 1);
    figures.emplace_back("queue_depth" + worker, static_cast<double>(in_flight[i]));
    figures.emplace_back("recoveries" + worker, static_cast<double>(connections_->recoveries(static_cast<int>(i))));
  }
  return figures;
}

// Known to the tasks until the last owner is gone, also when it is known to some of them only.
std::shared_ptr<const PlacedFunction> ClusterRuntime::make_function(const FunctionDescription& description) {
  const std::shared_ptr<const PlacedFunction> function(
      new PlacedFunction(connections_->next_number(), description, connections_->ps_addresses()),
      [releases = connections_->releases()](const PlacedFunction* placed) {
        releases->function(placed->handle());
        delete placed;
      });
  register_on_ps(*function, *connections_);
  return function;
}

std::shared_ptr<const PlacedFunction> ClusterRuntime::place(const std::shared_ptr<const Graph>& graph,
                                                            const std::function<FunctionDescription()>& describe) {
  std::lock_guard lock(mutex_);
  if (const auto known = functions_.find(graph.get()); known != functions_.end() && !known->second.graph.expired()) {
    return known->second.function;
  }
  std::erase_if(functions_, [](const auto& entry) { return entry.second.graph.expired(); });
  const std::shared_ptr<const PlacedFunction> function = make_function(describe());
  functions_[graph.get()] = {graph, function};
  return function;
}

}  // namespace cohort::distribute
