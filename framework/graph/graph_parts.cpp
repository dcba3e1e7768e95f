#include "cohort/graph/graph_parts.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "cohort/graph/passes/rewrite.h"
#include "cohort/graph/resource_use.h"
#include "cohort/graph/specialize.h"

namespace cohort {
namespace {

void check_named(const Graph& graph, Value value, const char* what) {
  const bool there = value.node >= 0 && value.node < static_cast<int>(graph.nodes.size()) && value.output >= 0 &&
                     value.output < static_cast<int>(graph.nodes[static_cast<std::size_t>(value.node)].outputs.size());
  if (there) return;
  throw invalid_argument("Graph", std::string(what) + " is a value of the graph",
                         {{"node", value.node}, {"output", value.output}, {"nodes", graph.nodes.size()}});
}

Value add_input_like(Graph& graph, const TensorSpec& spec, const std::string& name) {
  const Value value = graph.add(find_op("Input"), {}, {{"dtype", spec.dtype}, {"shape", spec.shape}}, name);
  graph.inputs.push_back(value.node);
  return value;
}

// Marks what the marked nodes need, feeds aside.
void mark_needed(const Graph& graph, const std::set<Value>& fed, std::vector<bool>& needed) {
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const Value& input : graph.nodes[i].inputs) {
      if (!fed.contains(input)) needed[static_cast<std::size_t>(input.node)] = true;
    }
  }
}

// Cuts one graph; parts are made in the order in which they run.
class PlaceCutter {
 public:
  PlaceCutter(const Graph& graph, std::span<const int> places)
      : graph_(graph), places_(places), rounds_(graph.nodes.size()), positions_(graph.nodes.size(), -1) {
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      positions_[static_cast<std::size_t>(graph.inputs[i])] = static_cast<int>(i);
    }
  }

  GraphParts run() {
    find_rounds();
    find_crossing();
    for (const auto& [key, members] : members_) make_part(key, members);
    for (const Value& output : graph_.outputs) result_.outputs.push_back(reference(output));
    result_.slots = static_cast<int>(slots_.size());
    return std::move(result_);
  }

 private:
  using Key = std::pair<int, int>;  // round, place

  const Node& node(int index) const { return graph_.nodes[static_cast<std::size_t>(index)]; }
  int place(int index) const { return places_[static_cast<std::size_t>(index)]; }
  bool is_input(int index) const { return positions_[static_cast<std::size_t>(index)] >= 0; }
  Key key(int index) const { return {rounds_[static_cast<std::size_t>(index)], place(index)}; }
  int reference(Value value) const {
    return is_input(value.node) ? positions_[static_cast<std::size_t>(value.node)] : ~slots_.at(value);
  }

  // A node runs in the first round in which all that it needs, and all that comes before it at its resources, is done.
  void find_rounds() {
    std::map<int, int> newest;  // by resource: the round of the last node that uses it
    for (int i = 0; i < static_cast<int>(graph_.nodes.size()); ++i) {
      if (place(i) == kAnyPlace) continue;
      int round = 0;
      for (const Value& input : node(i).inputs) {
        if (place(input.node) == kAnyPlace) continue;
        const auto [when, where] = key(input.node);
        round = std::max(round, where == place(i) ? when : when + 1);
      }
      const std::vector<ResourceUse> uses = resource_uses(graph_, node(i));
      for (const ResourceUse& use : uses) round = std::max(round, newest[use.resource]);
      for (const ResourceUse& use : uses) newest[use.resource] = round;
      rounds_[static_cast<std::size_t>(i)] = round;
      members_[key(i)].push_back(i);
    }
  }

  void find_crossing() {
    for (const auto& [part, members] : members_) {
      for (int member : members) {
        for (const Value& input : node(member).inputs) {
          if (place(input.node) != kAnyPlace && key(input.node) != part) crossing_[key(input.node)].insert(input);
        }
      }
    }
    for (const Value& output : graph_.outputs) {
      if (is_input(output.node)) continue;
      // A constant that is in no place and is asked for: whoever comes first has it.
      Key maker = key(output.node);
      if (maker.second == kAnyPlace) maker = members_.empty() ? Key{0, 0} : members_.begin()->first;
      if (place(output.node) == kAnyPlace) members_[maker];
      crossing_[maker].insert(output);
    }
  }

  void make_part(const Key& key_of_part, const std::vector<int>& members) {
    PlacedPart part;
    std::tie(part.round, part.place) = key_of_part;
    std::map<Value, Value> values;  // of the whole graph -> here
    const std::set<Value>& results = crossing_[key_of_part];
    std::set<int> copied(members.begin(), members.end());
    std::set<Value> arguments, resources, computed;
    const auto take = [&](Value value) {
      if (is_input(value.node)) {
        (graph_.spec(value).dtype == DType::Resource ? resources : arguments).insert(value);
      } else if (place(value.node) == kAnyPlace) {
        copied.insert(value.node);
      } else if (key(value.node) != key_of_part) {
        computed.insert(value);
      }
    };
    for (int member : members) {
      for (const Value& input : node(member).inputs) take(input);
    }
    for (const Value& result : results) take(result);
    const auto add_inputs = [&](const std::set<Value>& from, std::vector<int>& sources) {
      for (const Value& value : from) {
        values[value] = add_input_like(part.graph, graph_.spec(value), node(value.node).name);
        sources.push_back(reference(value));
      }
    };
    add_inputs(arguments, part.values);
    add_inputs(computed, part.values);
    add_inputs(resources, part.resources);
    for (int index : copied) {
      Node copy = node(index);
      copy.device.clear();  // that of the part
      for (Value& input : copy.inputs) input = values.at(input);
      part.graph.nodes.push_back(std::move(copy));
      const int here = static_cast<int>(part.graph.nodes.size()) - 1;
      for (int k = 0; k < static_cast<int>(node(index).outputs.size()); ++k) values[{index, k}] = {here, k};
    }
    for (const Value& value : results) {
      part.graph.outputs.push_back(values.at(value));
      const int slot = static_cast<int>(slots_.size());
      slots_[value] = slot;
      part.results.push_back(slot);
    }
    result_.parts.push_back(std::move(part));
  }

  const Graph& graph_;
  const std::span<const int> places_;
  std::vector<int> rounds_, positions_;  // by node: its round; where it is among the inputs, -1: nowhere
  std::map<Key, std::vector<int>> members_;
  std::map<Key, std::set<Value>> crossing_;  // what leaves each part
  std::map<Value, int> slots_;
  GraphParts result_;
};

}  // namespace

Graph needed_part(const Graph& graph, const GraphRequest& request, std::vector<int>& inputs) {
  const std::set<Value> fed(request.feeds.begin(), request.feeds.end());
  std::vector<bool> needed(graph.nodes.size());
  Graph part;
  std::map<Value, Value> values;
  for (const Value& value : request.feeds) {
    check_named(graph, value, "what is fed");
    const Node& node = graph.nodes[static_cast<std::size_t>(value.node)];
    if (graph.spec(value).dtype == DType::Resource || values.contains(value)) {
      throw invalid_argument(node.name, "a value is fed once, and no variable", {{"value", graph.spec(value)}});
    }
    values[value] = add_input_like(part, graph.spec(value), node.name);
  }
  for (const Value& value : request.fetches) {
    check_named(graph, value, "what is fetched");
    if (!fed.contains(value)) needed[static_cast<std::size_t>(value.node)] = true;
  }
  for (int target : request.targets) {
    if (target < 0 || target >= static_cast<int>(graph.nodes.size())) check_named(graph, {target, 0}, "a target");
    needed[static_cast<std::size_t>(target)] = true;
  }
  mark_needed(graph, fed, needed);
  inputs.clear();
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!needed[i]) continue;
    const Node& node = graph.nodes[i];
    const int index = static_cast<int>(i);
    if (passes::is_input(node)) {
      if (node.outputs[0].dtype != DType::Resource) {
        throw invalid_argument(node.name, "a placeholder must be fed", {{"placeholder", node.outputs[0]}},
                               "Give its value to run().");
      }
      values[{index, 0}] = add_input_like(part, node.outputs[0], node.name);
      inputs.push_back(index);
      continue;
    }
    Node copy = node;
    for (Value& input : copy.inputs) input = values.at(input);
    part.nodes.push_back(std::move(copy));
    const int here = static_cast<int>(part.nodes.size()) - 1;
    for (int k = 0; k < static_cast<int>(node.outputs.size()); ++k) values.emplace(Value{index, k}, Value{here, k});
  }
  for (const Value& value : request.fetches) {
    if (graph.spec(value).dtype == DType::Resource) {
      throw invalid_argument("Graph", "values are fetched, not variables themselves", {{"node", value.node}});
    }
    part.outputs.push_back(values.at(value));
  }
  return without_unused_resources(inline_calls(part));
}

GraphParts cut_by_place(const Graph& graph, std::span<const int> places) { return PlaceCutter(graph, places).run(); }

}  // namespace cohort
