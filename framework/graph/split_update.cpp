#include "cohort/graph/split_update.h"

#include <algorithm>
#include <set>

#include "cohort/graph/resource_use.h"

namespace cohort {
namespace {

using Nodes = std::set<int>;

Nodes nodes_of(const Graph& graph, const std::vector<int>& inputs) {
  Nodes nodes;
  for (const int input : inputs) nodes.insert(graph.inputs[static_cast<std::size_t>(input)]);
  return nodes;
}

bool uses_any(const Graph& graph, const Node& node, const Nodes& resources, bool written) {
  const std::vector<ResourceUse> uses = resource_uses(graph, node);
  return std::any_of(uses.begin(), uses.end(), [&](const ResourceUse& use) {
    return (use.writes || !written) && resources.contains(use.resource);
  });
}

bool writes_others(const Graph& graph, const Node& node, const Nodes& resources) {
  const std::vector<ResourceUse> uses = resource_uses(graph, node);
  return std::any_of(uses.begin(), uses.end(),
                     [&](const ResourceUse& use) { return use.writes && !resources.contains(use.resource); });
}

bool is_nested(const Node& node) {
  return std::any_of(node.attributes.begin(), node.attributes.end(), [](const Attributes::Entry& entry) {
    return std::holds_alternative<std::shared_ptr<const Graph>>(entry.value);
  });
}

// Which nodes the outputs and those that are wanted need. Who looks at a variable needs what was written to it before.
std::vector<bool> needed_nodes(const Graph& graph, std::vector<bool> wanted) {
  for (const Value& output : graph.outputs) wanted[static_cast<std::size_t>(output.node)] = true;
  Nodes looked_at;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    if (!wanted[i] && !uses_any(graph, node, looked_at, /*written=*/true)) continue;
    wanted[i] = true;
    for (const Value& input : node.inputs) wanted[static_cast<std::size_t>(input.node)] = true;
    for (const ResourceUse& use : resource_uses(graph, node)) looked_at.insert(use.resource);
  }
  return wanted;
}

GraphPart part_of(const Graph& graph, const std::vector<bool>& needed) {
  GraphPart part;
  std::vector<int> moved(graph.nodes.size(), -1);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!needed[i]) continue;
    moved[i] = static_cast<int>(part.graph.nodes.size());
    Node node = graph.nodes[i];
    for (Value& input : node.inputs) input.node = moved[static_cast<std::size_t>(input.node)];
    part.graph.nodes.push_back(std::move(node));
  }
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const int node = moved[static_cast<std::size_t>(graph.inputs[i])];
    if (node < 0) continue;
    part.graph.inputs.push_back(node);
    part.inputs.push_back(static_cast<int>(i));
  }
  for (Value output : graph.outputs) {
    output.node = moved[static_cast<std::size_t>(output.node)];
    part.graph.outputs.push_back(output);
  }
  return part;
}

// The graph with zeros in place of all that is brought to collectives; none where a shape is unknown.
std::optional<Graph> bringing_zeros(const Graph& graph, const Nodes& collectives) {
  Graph result;
  result.inputs = graph.inputs;
  std::vector<int> moved;
  for (const Node& each : graph.nodes) {
    Node node = each;
    for (Value& input : node.inputs) input.node = moved[static_cast<std::size_t>(input.node)];
    if (uses_any(graph, each, collectives, /*written=*/false)) {
      if (is_nested(each)) return std::nullopt;
      for (std::size_t i = 0; i < each.inputs.size(); ++i) {
        const TensorSpec& brought = graph.spec(each.inputs[i]);
        const Node& maker = graph.nodes[static_cast<std::size_t>(each.inputs[i].node)];
        // What another collective gave is the same in both places.
        if (brought.dtype == DType::Resource || uses_any(graph, maker, collectives, /*written=*/false)) continue;
        if (!brought.shape.fully_known()) return std::nullopt;
        node.inputs[i] =
            result.add(find_op("Constant"), {}, {{"value", Tensor::full(brought.shape, 0.0, brought.dtype, cpu())}},
                       each.name + "/nothing_" + std::to_string(i));
      }
    }
    moved.push_back(static_cast<int>(result.nodes.size()));
    result.nodes.push_back(std::move(node));
  }
  for (int& input : result.inputs) input = moved[static_cast<std::size_t>(input)];
  return result;
}

}  // namespace

std::optional<SplitStep> split_update(const Graph& graph, const std::vector<int>& updated,
                                      const std::vector<int>& collectives) {
  const std::optional<Graph> at_one_place = bringing_zeros(graph, nodes_of(graph, collectives));
  if (!at_one_place) return std::nullopt;
  const auto wanted_in = [](const Graph& whole, const auto& test) {
    std::vector<bool> wanted;
    for (const Node& node : whole.nodes) wanted.push_back(test(node));
    return wanted;
  };
  const Nodes variables = nodes_of(graph, updated);
  const auto has_effect = [&](const Node& node) {
    return has_other_effects(node) || writes_others(graph, node, variables);
  };
  std::vector<int> both = updated;
  both.insert(both.end(), collectives.begin(), collectives.end());
  const Nodes met = nodes_of(*at_one_place, both);
  const auto updates = [&](const Node& node) { return uses_any(*at_one_place, node, met, /*written=*/true); };
  return SplitStep{part_of(graph, needed_nodes(graph, wanted_in(graph, has_effect))),
                   part_of(*at_one_place, needed_nodes(*at_one_place, wanted_in(*at_one_place, updates)))};
}

}  // namespace cohort
