#include "cohort/graph/partition.h"

#include <algorithm>
#include <map>
#include <set>

#include "cohort/graph/passes/pass.h"
#include "cohort/graph/passes/rewrite.h"
#include "cohort/graph/resource_use.h"
#include "cohort/graph/rounds.h"
#include "cohort/graph/specialize.h"
#include "cohort/graph/write_effects.h"

namespace cohort {
namespace {

Value add_input(Graph& graph, const TensorSpec& spec, const std::string& name) {
  const Value value = graph.add(find_op("Input"), {}, {{"dtype", spec.dtype}, {"shape", spec.shape}}, name);
  graph.inputs.push_back(value.node);
  return value;
}

// The cut of one graph whose nodes have places and times; parts are made in the order in which they run.
class Cutter {
 public:
  Cutter(const Graph& graph, const std::vector<Home>& homes, int servers)
      : graph_(graph),
        homes_(homes),
        servers_(servers),
        placement_(place(graph, homes, servers)),
        rounds_(assign_rounds(graph, placement_)),
        input_position_(graph.nodes.size(), -1) {
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      input_position_[static_cast<std::size_t>(graph.inputs[i])] = static_cast<int>(i);
    }
    for (int position : written_inputs(graph)) written_.insert(graph.inputs[static_cast<std::size_t>(position)]);
  }

  PartitionedGraph run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (reads_replica(static_cast<int>(i))) continue;
      for (std::size_t k = 0; k < placement_.places[i].size(); ++k) {
        members_[{rounds_.when[i][k], placement_.places[i][k]}].push_back(static_cast<int>(i));
      }
    }
    find_replicated();
    find_crossing();
    for (int round = 0; round <= rounds_.count; ++round) {
      make_stage(round);
      if (round == rounds_.count) break;
      result_.rounds.emplace_back();
      for (int server = 0; server < servers_; ++server) {
        if (members_.contains({round, server})) make_exchange(round, server);
      }
    }
    for (const Value& output : graph_.outputs) result_.outputs.push_back(reference(output, kWorkerPlace));
    for (int server = 0; server < servers_; ++server) make_pull(server);
    result_.slots = static_cast<int>(slots_.size());
    return std::move(result_);
  }

 private:
  // When and where a part of the graph runs.
  using Part = std::pair<int, Place>;
  // A value as one place computed it.
  using Sourced = std::pair<Value, Place>;

  const Node& node(int index) const { return graph_.nodes[static_cast<std::size_t>(index)]; }
  bool is_argument(Value value) const { return passes::is_input(node(value.node)); }
  int input_position(int index) const { return input_position_[static_cast<std::size_t>(index)]; }
  const Home& home(int index) const { return homes_[static_cast<std::size_t>(input_position(index))]; }

  // Belongs to no stage but is repeated wherever the worker needs it: replicas change only between steps.
  bool reads_replica(int index) const {
    return node(index).op->name() == "ReadVariable" && placement_.at(index, kWorkerPlace) &&
           home(node(index).inputs[0].node).kind != Home::Kind::Worker;
  }

  // Whether a value comes into a part from outside, other than as an input of the whole graph.
  bool comes_from_outside(Value value, const Part& part) const {
    if (is_argument(value) || passes::is_constant(node(value.node))) return false;
    if (!placement_.at(value.node, part.second)) return true;
    if (part.second == kWorkerPlace && reads_replica(value.node)) return false;
    return time_of(value.node, part.second) != part.first;
  }

  int time_of(int index, Place place) const {
    const auto& places = placement_.places[static_cast<std::size_t>(index)];
    const auto position = std::find(places.begin(), places.end(), place) - places.begin();
    return rounds_.when[static_cast<std::size_t>(index)][static_cast<std::size_t>(position)];
  }

  Sourced sourced(Value value, Place user) const {
    return {value, placement_.at(value.node, user) ? user : placement_.source(value.node)};
  }

  // How a part or the result names a value from outside.
  int reference(Value value, Place user) const {
    if (is_argument(value)) return input_position(value.node);
    if (passes::is_constant(node(value.node))) return ~slots_.at({value, kWorkerPlace});
    return ~slots_.at(sourced(value, user));
  }

  void find_replicated() {
    std::set<int> positions;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!placement_.at(static_cast<int>(i), kWorkerPlace)) continue;
      for (const ResourceUse& use : resource_uses(graph_, graph_.nodes[i])) {
        if (home(use.resource).kind != Home::Kind::Worker) positions.insert(input_position(use.resource));
      }
    }
    result_.replicated.assign(positions.begin(), positions.end());
  }

  void find_crossing() {
    auto leaves = [&](const Sourced& source) {
      crossing_[{time_of(source.first.node, source.second), source.second}].insert(source.first);
    };
    for (const auto& [part, members] : members_) {
      for (int member : members) {
        for (const Value& input : node(member).inputs) {
          if (comes_from_outside(input, part)) leaves(sourced(input, part.second));
        }
      }
    }
    for (const Value& output : graph_.outputs) {
      if (is_argument(output)) continue;
      if (passes::is_constant(node(output.node))) {
        crossing_[{0, kWorkerPlace}].insert(output);
      } else {
        leaves(sourced(output, kWorkerPlace));
      }
    }
  }

  // One part's graph while it is made.
  struct Draft {
    Graph graph;
    std::map<Value, Value> values;  // of the whole graph -> here
  };

  // The nodes of a part in the graph's order, with the reads of replicas it repeats and the constants it uses.
  std::set<int> nodes_of(const Part& part, const std::set<Value>& results) const {
    std::set<int> nodes;
    if (auto members = members_.find(part); members != members_.end()) {
      nodes.insert(members->second.begin(), members->second.end());
    }
    const std::set<int> own = nodes;
    auto add_copied = [&](Value value) {
      if (!is_argument(value) && !comes_from_outside(value, part)) nodes.insert(value.node);
    };
    for (int index : own) {
      for (const Value& input : node(index).inputs) add_copied(input);
    }
    for (const Value& value : results) add_copied(value);
    return nodes;
  }

  void copy_nodes(const std::set<int>& nodes, Draft& draft) const {
    for (int index : nodes) {
      Node copy = node(index);
      for (Value& input : copy.inputs) input = draft.values.at(input);
      draft.graph.nodes.push_back(std::move(copy));
      const int here = static_cast<int>(draft.graph.nodes.size()) - 1;
      for (std::size_t k = 0; k < node(index).outputs.size(); ++k) {
        const int output = static_cast<int>(k);
        draft.values[{index, output}] = {here, output};
      }
    }
  }

  // What the nodes take from outside the part: inputs of the whole graph, then values computed before.
  struct Needs {
    std::set<Value> arguments, resources;
    std::map<int, Value> slots;
  };

  Needs needs_of(const std::set<int>& nodes, const Part& part) const {
    Needs needs;
    for (int index : nodes) {
      for (const Value& input : node(index).inputs) {
        if (is_argument(input)) {
          const bool resource = graph_.spec(input).dtype == DType::Resource;
          (resource ? needs.resources : needs.arguments).insert(input);
        } else if (comes_from_outside(input, part)) {
          needs.slots.emplace(~reference(input, part.second), input);
        }
      }
    }
    return needs;
  }

  // Makes an input of the part for each; `sources` gets what they are called outside.
  void add_inputs(const std::set<Value>& inputs, Draft& draft, std::vector<int>& sources) const {
    std::vector<Value> ordered(inputs.begin(), inputs.end());
    std::sort(ordered.begin(), ordered.end(),
              [&](Value a, Value b) { return input_position(a.node) < input_position(b.node); });
    for (const Value& input : ordered) {
      draft.values[input] = add_input(draft.graph, graph_.spec(input), node(input.node).name);
      sources.push_back(input_position(input.node));
    }
  }

  void add_inputs(const std::map<int, Value>& slots, Draft& draft, std::vector<int>& sources) const {
    for (const auto& [slot, value] : slots) {
      const std::string name = node(value.node).name + (value.output > 0 ? ":" + std::to_string(value.output) : "");
      draft.values[value] = add_input(draft.graph, graph_.spec(value), name);
      sources.push_back(~slot);
    }
  }

  void add_results(const Part& part, Draft& draft, std::vector<int>& slots) {
    for (const Value& value : crossing_[part]) {
      draft.graph.outputs.push_back(draft.values.at(value));
      const int slot = static_cast<int>(slots_.size());
      slots_[{value, part.second}] = slot;
      slots.push_back(slot);
    }
  }

  void make_stage(int stage) {
    const Part part{stage, kWorkerPlace};
    const std::set<int> nodes = nodes_of(part, crossing_[part]);
    Needs needs = needs_of(nodes, part);
    needs.arguments.merge(needs.resources);
    Draft draft;
    WorkerStage made;
    add_inputs(needs.arguments, draft, made.inputs);
    add_inputs(needs.slots, draft, made.inputs);
    copy_nodes(nodes, draft);
    add_results(part, draft, made.outputs);
    made.graph = std::move(draft.graph);
    result_.stages.push_back(std::move(made));
  }

  void make_exchange(int round, int server) {
    const Part part{round, server};
    const std::set<int> nodes = nodes_of(part, crossing_[part]);
    Needs needs = needs_of(nodes, part);
    ServerExchange made;
    made.server = server;
    if (is_last(part)) made.fresh = replicated_from(server);
    Draft draft;
    add_inputs(needs.arguments, draft, made.sent);
    add_inputs(needs.slots, draft, made.sent);
    add_inputs(needs.resources, draft, made.resources);
    copy_nodes(nodes, draft);
    add_results(part, draft, made.returned);
    for (int index : nodes) {
      for (const ResourceUse& use : resource_uses(graph_, node(index))) made.writes |= use.writes;
    }
    made.graph = std::move(draft.graph);
    result_.rounds.back().push_back(std::move(made));
  }

  bool is_last(const Part& part) const {
    return std::none_of(members_.begin(), members_.end(), [&](const auto& other) {
      return other.first.second == part.second && other.first.first > part.first;
    });
  }

  std::vector<int> replicated_from(int server) const {
    std::vector<int> positions;
    for (int position : result_.replicated) {
      const Home& where = homes_[static_cast<std::size_t>(position)];
      if (server == (where.kind == Home::Kind::EveryServer ? 0 : where.server)) positions.push_back(position);
    }
    std::stable_partition(positions.begin(), positions.end(), [&](int position) {
      return written_.contains(graph_.inputs[static_cast<std::size_t>(position)]);
    });
    return positions;
  }

  void make_pull(int server) {
    ServerPull made{.server = server, .resources = replicated_from(server)};
    if (!made.resources.empty()) result_.pulls.push_back(std::move(made));
  }

  const Graph& graph_;
  const std::vector<Home>& homes_;
  const int servers_;
  const Placement placement_;
  const Rounds rounds_;
  std::vector<int> input_position_;
  std::set<int> written_;  // nodes of the resources that something writes to
  std::map<Part, std::vector<int>> members_;
  std::map<Part, std::set<Value>> crossing_;  // what leaves each part
  std::map<Sourced, int> slots_;
  PartitionedGraph result_;
};

}  // namespace

PartitionedGraph partition(const Graph& graph, const std::vector<Home>& homes, int servers) {
  Graph flat = without_unused_resources(inline_calls(graph));
  passes::remove_dead_nodes(flat);
  return Cutter(flat, homes, servers).run();
}

}  // namespace cohort
