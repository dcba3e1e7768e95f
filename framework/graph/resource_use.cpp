#include "cohort/graph/resource_use.h"

#include <algorithm>
#include <optional>

#include "cohort/graph/passes/rewrite.h"

namespace cohort {
namespace {

// A graph that a node may run, and the node's input that is the graph's first.
struct Subgraph {
  const Graph& graph;
  std::size_t first_input;
};

std::vector<Subgraph> subgraphs(const Node& node) {
  std::vector<Subgraph> result;
  const std::size_t first_input = node.op->name() == "Cond" ? 1 : 0;  // the predicate is for the node alone
  for (const Attributes::Entry& entry : node.attributes) {
    const auto* graph = std::get_if<std::shared_ptr<const Graph>>(&entry.value);
    if (graph && entry.name != "backward") result.push_back({**graph, first_input});
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

std::optional<TensorSpec> spec_by_use(const Graph& graph, int resource) {
  for (const Node& node : graph.nodes) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i].node != resource) continue;
      for (const Subgraph& sub : subgraphs(node)) {
        if (i < sub.first_input) continue;
        if (auto spec = spec_by_use(sub.graph, sub.graph.inputs[i - sub.first_input])) return spec;
      }
      const Attributes& attributes = node.attributes;
      if (i == 0 && attributes.has("dtype") && attributes.has("shape")) {
        return TensorSpec{attributes.get<DType>("dtype"), attributes.get<Shape>("shape")};
      }
    }
  }
  return std::nullopt;
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

TensorSpec variable_spec(const Graph& graph, int resource) {
  if (auto spec = spec_by_use(graph, resource)) return *spec;
  throw unimplemented("Graph",
                      "a variable that a task reads from another one is read or assigned somewhere in the graph",
                      {{"variable", graph.nodes[static_cast<std::size_t>(resource)].name}});
}

}  // namespace cohort
