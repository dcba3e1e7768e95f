#include "cohort/distribute/worker/session_placer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/text.h"
#include "cohort/graph/graph_parts.h"
#include "cohort/graph/resource_use.h"

namespace cohort::distribute {
namespace {

std::string node_title(const Node& node) { return "Node '" + node.name + "' (" + node.op->name() + ")"; }

}  // namespace

std::string SessionPlace::name() const {
  return "/job:" + job + "/replica:0/task:" + std::to_string(index) + "/device:" + device;
}

SessionPlacer::SessionPlacer(const ClusterSpec& cluster, std::string master_job, std::int64_t master_index, bool soft,
                             DevicesOf devices_of)
    : cluster_(cluster),
      master_job_(std::move(master_job)),
      master_index_(master_index),
      soft_(soft),
      devices_of_(std::move(devices_of)) {
  place({}, "Session");
}

int SessionPlacer::number_of(SessionPlace place) {
  const auto known = std::find(places_.begin(), places_.end(), place);
  if (known != places_.end()) return static_cast<int>(known - places_.begin());
  places_.push_back(std::move(place));
  return static_cast<int>(places_.size()) - 1;
}

std::string SessionPlacer::device_of(const std::string& job, std::int64_t index, const DeviceSpec& asked,
                                     const std::string& who) {
  const std::string task = task_name(job, index);
  const TaskDevices& has = devices_of_(task);
  if (!asked.device_type) return has.by_default;
  const std::string wanted = *asked.device_type + ":" + std::to_string(asked.device_index.value_or(0));
  // Devices of type TEST are made where they are named.
  if (*asked.device_type == "TEST" || std::find(has.names.begin(), has.names.end(), wanted) != has.names.end()) {
    return wanted;
  }
  if (soft_) return "CPU:0";
  throw invalid_argument(who, "a device that its task has is expected",
                         {{"device", asked.to_string()}, {task + " has", join(has.names)}},
                         "Name another one, or open the session with soft_placement.");
}

int SessionPlacer::place(const DeviceSpec& asked, const std::string& who) {
  const bool open = !asked.job && !asked.task;
  const std::string job = asked.job.value_or(master_job_);
  const std::int64_t index = open ? master_index_ : asked.task.value_or(0);
  if (!cluster_.has_task(job, index) || asked.replica.value_or(0) != 0) {
    throw invalid_argument(who, "a device of a task of the cluster is expected",
                           {{"device", asked.to_string()}, {"cluster", cluster_.as_text()}});
  }
  return number_of({job, index, device_of(job, index, asked, who)});
}

std::vector<int> SessionPlacer::place_nodes(const Graph& graph, std::span<const int> variables) {
  std::vector<int> places(graph.nodes.size(), kAnyPlace);
  std::vector<int> homes(graph.nodes.size(), -1);
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    homes[static_cast<std::size_t>(graph.inputs[i])] = variables[i];
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const bool constant = node.op->name() == "Constant";
    if (node.op->name() == "Input" || (constant && node.device.empty())) continue;
    std::optional<int> home;
    for (const ResourceUse& use : resource_uses(graph, node)) {
      const int other = homes[static_cast<std::size_t>(use.resource)];
      if (other < 0) throw unimplemented(node_title(node), "the only resources of a session's graph are its variables");
      if (home && *home != other) {
        throw invalid_argument(node_title(node), "a node uses variables of one device",
                               {{"devices", places_[static_cast<std::size_t>(*home)].name() + " and " +
                                                places_[static_cast<std::size_t>(other)].name()}},
                               "Read one of them first, or put them on the same device.");
      }
      home = other;
    }
    places[i] = home ? *home : place(DeviceSpec::from_string(node.device), node_title(node));
  }
  return places;
}

}  // namespace cohort::distribute
