#include <algorithm>
#include <vector>

#include "cohort/core/mixed_types.h"
#include "cohort/core/update_layout.h"
#include "cohort/graph/passes/pass.h"
#include "cohort/graph/passes/rewrite.h"

namespace cohort::passes {
namespace {

UpdateLayout layout_of(const Node& node) {
  return UpdateLayout(*node.op, node.attributes, static_cast<int>(node.inputs.size()));
}

const Value& input_of(const Node& node, int i) { return node.inputs[static_cast<std::size_t>(i)]; }

// What the variables of an update are, whose gradients may have other types where it says so.
DType type_of(const Graph& graph, const Node& node) {
  return node.attributes.get<DType>(kComputeType, graph.spec(input_of(node, layout_of(node).gradient(0))).dtype);
}

// Whether two updates can become one: the same kind with the same attributes, types and shared inputs.
bool mergeable(const Graph& graph, const Node& a, const Node& b) {
  if (a.op != b.op) return false;
  Attributes left = a.attributes, right = b.attributes;
  UpdateLayout::set_count(left, 1);
  UpdateLayout::set_count(right, 1);
  left.erase(kComputeType);
  right.erase(kComputeType);
  const UpdateLayout first = layout_of(a), second = layout_of(b);
  if (!(left == right) || first.num_shared() != second.num_shared()) return false;
  if (type_of(graph, a) != type_of(graph, b)) return false;
  for (int g = 0; g < first.groups(); ++g) {
    if (first.in_group(g, 0) == first.gradient(0)) continue;
    const Value &x = input_of(a, first.in_group(g, 0)), &y = input_of(b, second.in_group(g, 0));
    if (graph.spec(x).dtype != graph.spec(y).dtype) return false;
  }
  return std::equal(a.inputs.begin() + first.shared(0), a.inputs.end(), b.inputs.begin() + second.shared(0));
}

// Group by group: the values of the first update followed by those of the second.
void merge(const Node& from, Node& into) {
  const UpdateLayout first = layout_of(into), second = layout_of(from);
  std::vector<Value> inputs;
  for (int g = 0; g < first.groups(); ++g) {
    for (int i = 0; i < first.count(); ++i) inputs.push_back(input_of(into, first.in_group(g, i)));
    for (int i = 0; i < second.count(); ++i) inputs.push_back(input_of(from, second.in_group(g, i)));
  }
  inputs.insert(inputs.end(), into.inputs.begin() + first.shared(0), into.inputs.end());
  into.inputs = std::move(inputs);
  UpdateLayout::set_count(into.attributes, first.count() + second.count());
  if (from.attributes.has(kComputeType)) into.attributes.set(kComputeType, *from.attributes.find(kComputeType));
}

}  // namespace

void schedule(Graph& graph) {
  std::vector<int> standing;  // where the merged update of each kind stands
  std::vector<bool> keep(graph.nodes.size(), true);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    Node& node = graph.nodes[i];
    if (!UpdateLayout::describes(*node.op)) continue;
    const auto found = std::find_if(standing.begin(), standing.end(), [&](int other) {
      return mergeable(graph, graph.nodes[static_cast<std::size_t>(other)], node) &&
             may_move_write(graph, other, static_cast<int>(i));
    });
    if (found == standing.end()) {
      standing.push_back(static_cast<int>(i));
      continue;
    }
    // The merged node stands at the last of them: all gradients are there by then.
    merge(node, graph.nodes[static_cast<std::size_t>(*found)]);
    std::swap(graph.nodes[static_cast<std::size_t>(*found)], node);
    keep[static_cast<std::size_t>(*found)] = false;
    *found = static_cast<int>(i);
  }
  compact(graph, keep);
}

}  // namespace cohort::passes
