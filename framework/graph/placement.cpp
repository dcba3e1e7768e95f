#include "cohort/graph/placement.h"

#include <algorithm>
#include <optional>
#include <set>

#include "cohort/core/device_spec.h"
#include "cohort/graph/passes/rewrite.h"
#include "cohort/graph/resource_use.h"

namespace cohort {
namespace {

using Places = std::vector<Place>;

std::string place_name(Place place) {
  return place == kWorkerPlace ? "/job:worker" : "/job:ps/task:" + std::to_string(place);
}

class Placer {
 public:
  Placer(const Graph& graph, const std::vector<Home>& homes, int servers)
      : graph_(graph), servers_(servers), homes_(graph.nodes.size()), nodes_(graph.nodes.size()) {
    check_homes(homes);
    placement_.places.resize(graph.nodes.size());
  }

  Placement run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) place_by_resources(static_cast<int>(i));
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].writes_everywhere) places(i).assign(taking_part_.begin(), taking_part_.end());
    }
    while (sink()) {
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!is_leaf(i) && places(i).empty()) places(i) = {nodes_[i].needs_a_server ? 0 : kWorkerPlace};
    }
    return std::move(placement_);
  }

 private:
  struct NodeState {
    std::vector<ResourceUse> uses;
    bool writes_everywhere = false;
    bool needs_a_server = false;  // reads a variable of EveryServer after a write to it
    bool can_sink = false;
  };

  Places& places(std::size_t node) { return placement_.places[node]; }
  bool is_leaf(std::size_t node) const {
    return passes::is_input(graph_.nodes[node]) || passes::is_constant(graph_.nodes[node]);
  }
  Home home(int resource) const { return homes_[static_cast<std::size_t>(resource)]; }
  std::string describe(int node) const {
    const Node& n = graph_.nodes[static_cast<std::size_t>(node)];
    return "Node '" + n.name + "' (" + n.op->name() + ")";
  }

  void check_homes(const std::vector<Home>& homes) {
    if (homes.size() != graph_.inputs.size()) {
      throw invalid_argument("partition", "one home for each input of the graph is expected",
                             {{"homes", homes.size()}, {"inputs", graph_.inputs.size()}});
    }
    for (std::size_t i = 0; i < homes.size(); ++i) {
      const int input = graph_.inputs[i];
      homes_[static_cast<std::size_t>(input)] = homes[i];
      if (homes[i].kind == Home::Kind::Worker) continue;
      const TensorSpec& spec = graph_.spec({input, 0});
      if (spec.dtype != DType::Resource) {
        throw invalid_argument("partition", "only resources live on servers", {{"input", i}, {"spec", spec}});
      }
      const int server = homes[i].kind == Home::Kind::Server ? homes[i].server : 0;
      if (server < 0 || server >= servers_) {
        throw invalid_argument("partition", "a resource lives on a server that is there",
                               {{"input", i}, {"server", server}, {"servers", servers_}});
      }
    }
  }

  // What the node's device asks for; nothing where that names no task.
  std::optional<Place> asked_place(int node) const {
    const std::string& device = graph_.nodes[static_cast<std::size_t>(node)].device;
    if (device.empty()) return std::nullopt;
    const DeviceSpec spec = DeviceSpec::from_string(device);
    if (!spec.job || *spec.job == "localhost") return std::nullopt;
    if (*spec.job == "worker") return kWorkerPlace;
    const int task = spec.task.value_or(0);
    if (*spec.job != "ps") {
      throw invalid_argument(describe(node), "a node runs on job worker or ps", {{"device", device}});
    }
    if (task >= servers_) {
      throw invalid_argument(describe(node), "a node runs on a parameter server that is there",
                             {{"device", device}, {"parameter servers", servers_}});
    }
    return task;
  }

  // Where the resources a node uses make it run, if they do.
  std::optional<Place> place_of_resources(int node) {
    NodeState& state = nodes_[static_cast<std::size_t>(node)];
    std::optional<Place> required;
    auto require = [&](Place place) {
      if (required && *required != place) {
        throw invalid_argument(describe(node), "a node uses resources of one task",
                               {{"tasks", place_name(*required) + " and " + place_name(place)}},
                               "Write to variables of one server in each branch or loop.");
      }
      required = place;
    };
    for (const ResourceUse& use : state.uses) {
      const Home where = home(use.resource);
      if (where.kind == Home::Kind::Worker) require(kWorkerPlace);
      if (where.kind == Home::Kind::Server && (use.writes || written_.contains(use.resource))) require(where.server);
      if (where.kind != Home::Kind::EveryServer) continue;
      if (use.writes) state.writes_everywhere = true;
      if (written_.contains(use.resource)) state.needs_a_server = true;
    }
    if (state.writes_everywhere && servers_ == 1) {
      state.writes_everywhere = false;
      require(0);
    }
    if (required && (state.writes_everywhere || (state.needs_a_server && *required == kWorkerPlace))) {
      throw invalid_argument(describe(node), "a node uses resources of one task",
                             {{"tasks", place_name(*required) + " and every parameter server"}},
                             "Write to a variable that every server has a copy of outside of branches and loops.");
    }
    // What is read before any write may come from a replica, but only on the worker.
    if (required && *required != kWorkerPlace) {
      for (const ResourceUse& use : state.uses) {
        if (home(use.resource).kind == Home::Kind::Server) require(home(use.resource).server);
      }
    }
    return required;
  }

  // Whether the node can run there: on the worker with replicas, on a server with its own.
  bool has_what_is_used(Place place, const NodeState& state) const {
    if (place == kWorkerPlace) return !state.needs_a_server;
    return std::all_of(state.uses.begin(), state.uses.end(), [&](const ResourceUse& use) {
      return home(use.resource).kind == Home::Kind::EveryServer || home(use.resource).server == place;
    });
  }

  void place_by_resources(int node) {
    const auto i = static_cast<std::size_t>(node);
    if (is_leaf(i)) return;
    NodeState& state = nodes_[i];
    state.uses = resource_uses(graph_, graph_.nodes[i]);
    for (const ResourceUse& use : state.uses) {
      if (passes::is_input(graph_.nodes[static_cast<std::size_t>(use.resource)])) continue;
      throw unimplemented(describe(node), "resources are inputs of the graph, not results of other nodes");
    }
    const std::optional<Place> asked = asked_place(node), required = place_of_resources(node);
    for (const ResourceUse& use : state.uses) {
      if (use.writes) written_.insert(use.resource);
    }
    const bool pure = !has_other_effects(graph_.nodes[i]) && !draws_random_numbers(graph_.nodes[i]) &&
                      std::none_of(state.uses.begin(), state.uses.end(), [](const auto& use) { return use.writes; });
    if (asked && required && *asked != *required && *asked != kWorkerPlace && !pure) {
      throw invalid_argument(describe(node), "a node that changes a resource runs where that is",
                             {{"device", place_name(*asked)}, {"resource's device", place_name(*required)}},
                             "Leave its device open.");
    }
    if (required) {
      places(i) = {*required};
    } else if (state.writes_everywhere) {
      taking_part_.insert(0);
    } else if (asked && has_what_is_used(*asked, state)) {
      places(i) = {*asked};
    } else {
      state.can_sink = pure;
      if (state.needs_a_server) taking_part_.insert(0);
    }
    if (!places(i).empty() && places(i)[0] != kWorkerPlace) taking_part_.insert(places(i)[0]);
  }

  // Moves nodes that only serve servers there, all that might go at once, then takes back those that must not; true
  // when some were taken back, so that others may have to follow.
  bool sink() {
    const auto users = graph_.users();
    std::set<int> outputs;
    for (const Value& output : graph_.outputs) outputs.insert(output.node);
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      if (!nodes_[i].can_sink) continue;
      std::set<Place> wanted;
      for (const auto& [user, position] : users[i]) {
        const Places& at = places(static_cast<std::size_t>(user));
        if (at.empty()) wanted.insert(kWorkerPlace);
        wanted.insert(at.begin(), at.end());
      }
      if (outputs.contains(static_cast<int>(i)) || wanted.contains(kWorkerPlace)) wanted.clear();
      places(i).assign(wanted.begin(), wanted.end());
    }
    bool taken_back = false;
    std::vector<bool> from_server(nodes_.size());  // knows something of the server it runs on
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (places(i).empty() || places(i)[0] == kWorkerPlace) continue;
      from_server[i] = !nodes_[i].can_sink || !nodes_[i].uses.empty();
      bool of_worker = false, of_other_server = false;
      for (const Value& input : graph_.nodes[i].inputs) {
        const auto producer = static_cast<std::size_t>(input.node);
        if (passes::is_constant(graph_.nodes[producer]) || graph_.spec(input).dtype == DType::Resource) continue;
        const Places& at = places(producer);
        if (at.empty() || at[0] == kWorkerPlace) {
          of_worker = true;
        } else if (std::includes(at.begin(), at.end(), places(i).begin(), places(i).end())) {
          if (from_server[producer]) from_server[i] = true;
        } else {
          of_other_server = true;
        }
      }
      for (const ResourceUse& use : nodes_[i].uses) {
        if (home(use.resource).kind == Home::Kind::Server && places(i) != Places{home(use.resource).server}) {
          of_other_server = true;
        }
      }
      if (!nodes_[i].can_sink) continue;
      const bool joins = graph_.nodes[i].op->is_elementwise() && from_server[i];
      if (!of_other_server && (!of_worker || joins)) continue;
      nodes_[i].can_sink = false;
      places(i).clear();
      taken_back = true;
    }
    return taken_back;
  }

  const Graph& graph_;
  const int servers_;
  std::vector<Home> homes_;  // by node; only inputs have one
  std::vector<NodeState> nodes_;
  std::set<int> written_;        // resources written by the nodes placed so far
  std::set<Place> taking_part_;  // servers with something to do
  Placement placement_;
};

}  // namespace

bool Placement::at(int node, Place place) const {
  const std::vector<Place>& all = places[static_cast<std::size_t>(node)];
  return std::find(all.begin(), all.end(), place) != all.end();
}

Placement place(const Graph& graph, const std::vector<Home>& homes, int servers) {
  return Placer(graph, homes, servers).run();
}

}  // namespace cohort
