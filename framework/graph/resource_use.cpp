#include "cohort/graph/resource_use.h"

#include <algorithm>

#include "cohort/graph/passes/pass.h"
#include "cohort/graph/specialize.h"

namespace cohort {
namespace {

// A graph that a node may run, and the node's input that is the graph's first.
struct Subgraph {
  std::string name;
  const Graph& graph;
  std::size_t first_input;
};

std::vector<Subgraph> subgraphs(const Node& node) {
  std::vector<Subgraph> result;
  const std::size_t first_input = node.op->name() == "Cond" ? 1 : 0;  // the predicate is for the node alone
  for (const Attributes::Entry& entry : node.attributes) {
    const auto* graph = std::get_if<std::shared_ptr<const Graph>>(&entry.value);
    if (graph && entry.name != "backward") result.push_back({entry.name, **graph, first_input});
  }
  return result;
}

bool any_node(const Node& node, bool (*test)(const Node&)) {
  for (const Subgraph& sub : subgraphs(node)) {
    if (std::any_of(sub.graph.nodes.begin(), sub.graph.nodes.end(), test)) return true;
  }
  return false;
}

// Whether a sub-graph of the node writes to what it gets as input `position` of the node.
bool subgraphs_write(const Node& node, std::size_t position) {
  for (const Subgraph& sub : subgraphs(node)) {
    if (position < sub.first_input) continue;
    const int inner = sub.graph.inputs[position - sub.first_input];
    for (const Node& user : sub.graph.nodes) {
      for (const ResourceUse& use : resource_uses(sub.graph, user)) {
        if (use.resource == inner && use.writes) return true;
      }
    }
  }
  return false;
}

void erase_node(Graph& graph, int node) {
  auto move_up = [&](int& index) { index -= index > node ? 1 : 0; };
  graph.nodes.erase(graph.nodes.begin() + node);
  for (Node& each : graph.nodes) {
    for (Value& input : each.inputs) move_up(input.node);
  }
  for (int& input : graph.inputs) move_up(input);
  for (Value& output : graph.outputs) move_up(output.node);
}

bool is_used(const Graph& graph, int node) {
  auto uses = [&](const std::vector<Value>& values) {
    return std::any_of(values.begin(), values.end(), [&](const Value& value) { return value.node == node; });
  };
  return uses(graph.outputs) ||
         std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& each) { return uses(each.inputs); });
}

// with_values(), with all inputs still there. Calls are inlined: the graph of a gradient would need the variables.
Graph with_reads_replaced(const Graph& graph, std::span<const Tensor> values) {
  Graph result = inline_calls(graph);
  Tensors of_node(result.nodes.size());
  for (std::size_t i = 0; i < values.size(); ++i) of_node[static_cast<std::size_t>(result.inputs[i])] = values[i];
  const auto value_of = [&](const Value& input) { return of_node[static_cast<std::size_t>(input.node)]; };
  for (Node& node : result.nodes) {
    if (node.op->name() == "ReadVariable" && value_of(node.inputs[0]).defined()) {
      node.attributes = {{"value", value_of(node.inputs[0])}};
      node.op = &find_op("Constant");
      node.inputs.clear();
      continue;
    }
    Attributes attributes = node.attributes;
    for (const Subgraph& sub : subgraphs(node)) {
      Tensors inner;
      for (std::size_t i = sub.first_input; i < node.inputs.size(); ++i) inner.push_back(value_of(node.inputs[i]));
      attributes.set(sub.name,
                     std::shared_ptr<const Graph>(std::make_shared<Graph>(with_reads_replaced(sub.graph, inner))));
    }
    node.attributes = std::move(attributes);
  }
  return result;
}

}  // namespace

std::vector<ResourceUse> resource_uses(const Graph& graph, const Node& node) {
  std::vector<ResourceUse> uses;
  const bool nested = !subgraphs(node).empty();
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (graph.spec(node.inputs[i]).dtype != DType::Resource) continue;
    const int resource = node.inputs[i].node;
    const bool writes = nested ? subgraphs_write(node, i) : node.op->is_stateful();
    auto known = std::find_if(uses.begin(), uses.end(), [&](const ResourceUse& u) { return u.resource == resource; });
    if (known == uses.end()) {
      uses.push_back({resource, writes});
    } else {
      known->writes |= writes;
    }
  }
  return uses;
}

bool has_other_effects(const Node& node) {
  if (!subgraphs(node).empty()) return any_node(node, has_other_effects);
  return node.op->is_stateful() && !node.op->writes_resources();
}

bool draws_random_numbers(const Node& node) { return node.op->is_random() || any_node(node, draws_random_numbers); }

Graph without_unused_resources(const Graph& graph) {
  Graph result = graph;
  for (Node& node : result.nodes) {
    // A function with a gradient of its own: the graphs for both directions take the same inputs.
    if (node.attributes.has("backward")) continue;
    const std::vector<Subgraph> subs = subgraphs(node);
    if (subs.empty()) continue;
    std::vector<Graph> inner;
    for (const Subgraph& sub : subs) {
      inner.push_back(without_unused_resources(sub.graph));
      passes::remove_dead_nodes(inner.back());
    }
    const std::size_t first = subs[0].first_input;
    for (std::size_t i = node.inputs.size(); i-- > first;) {
      if (result.spec(node.inputs[i]).dtype != DType::Resource) continue;
      if (std::any_of(inner.begin(), inner.end(), [&](const Graph& g) { return is_used(g, g.inputs[i - first]); })) {
        continue;
      }
      node.inputs.erase(node.inputs.begin() + static_cast<std::ptrdiff_t>(i));
      for (Graph& g : inner) {
        const int input = g.inputs[i - first];
        g.inputs.erase(g.inputs.begin() + static_cast<std::ptrdiff_t>(i - first));
        erase_node(g, input);
      }
    }
    for (std::size_t k = 0; k < inner.size(); ++k) {
      node.attributes.set(subs[k].name, std::shared_ptr<const Graph>(std::make_shared<Graph>(std::move(inner[k]))));
    }
  }
  return result;
}

Graph with_values(const Graph& graph, std::span<const Tensor> values) {
  Graph result = without_unused_resources(with_reads_replaced(graph, values));
  for (std::size_t i = values.size(); i-- > 0;) {
    if (!values[i].defined()) continue;
    const int input = result.inputs[i];
    if (is_used(result, input)) {
      throw internal_error("with_values", "variables with a value are read and nothing else", {{"input", i}});
    }
    result.inputs.erase(result.inputs.begin() + static_cast<std::ptrdiff_t>(i));
    erase_node(result, input);
  }
  return result;
}

}  // namespace cohort
