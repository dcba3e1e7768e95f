#include <algorithm>
#include <set>
#include <vector>

#include "cohort/graph/passes/pass.h"
#include "cohort/graph/passes/rewrite.h"

namespace cohort::passes {
namespace {

// An update's inputs are `groups` lists of `count` per-variable values, then what all variables share.
bool is_update(const Node& node) { return node.op->writes_resources() && node.attributes.has("groups"); }

// Whether two updates can become one: the same kind with the same attributes, types and shared inputs.
bool mergeable(const Graph& graph, const Node& a, const Node& b) {
  if (a.op != b.op) return false;
  Attributes left = a.attributes, right = b.attributes;
  const int groups = left.get<int>("groups"), first = left.get<int>("count"), second = right.get<int>("count");
  left.erase("count");
  right.erase("count");
  const auto own = static_cast<std::size_t>(groups * first), other = static_cast<std::size_t>(groups * second);
  if (!(left == right) || a.inputs.size() - own != b.inputs.size() - other) return false;
  for (int g = 0; g < groups; ++g) {
    const Value &x = a.inputs[static_cast<std::size_t>(g * first)], &y = b.inputs[static_cast<std::size_t>(g * second)];
    if (graph.spec(x).dtype != graph.spec(y).dtype) return false;
  }
  return std::equal(a.inputs.begin() + static_cast<std::ptrdiff_t>(own), a.inputs.end(),
                    b.inputs.begin() + static_cast<std::ptrdiff_t>(other));
}

// Group by group: the values of the first update followed by those of the second.
void merge(const Node& from, Node& into) {
  const int groups = into.attributes.get<int>("groups");
  const int first = into.attributes.get<int>("count"), second = from.attributes.get<int>("count");
  std::vector<Value> inputs;
  for (int g = 0; g < groups; ++g) {
    for (int i = 0; i < first; ++i) inputs.push_back(into.inputs[static_cast<std::size_t>(g * first + i)]);
    for (int i = 0; i < second; ++i) inputs.push_back(from.inputs[static_cast<std::size_t>(g * second + i)]);
  }
  inputs.insert(inputs.end(), into.inputs.begin() + groups * first, into.inputs.end());
  into.inputs = std::move(inputs);
  into.attributes.set("count", AttributeValue(std::int64_t{first + second}));
}

std::set<int> resources_of(const Graph& graph, const Node& node) {
  std::set<int> result;
  for (const Value& input : node.inputs) {
    if (const int resource = resource_behind(graph, input); resource >= 0) result.insert(resource);
  }
  return result;
}

std::set<int> written_by(const Graph& graph, const Node& node) {
  std::set<int> result;
  for (const Value& input : node.inputs) {
    if (node.op->writes_resources() && graph.spec(input).dtype == DType::Resource) result.insert(input.node);
  }
  return result;
}

// Whether the update at `from` may take place at `to` instead: nothing in between looks at what it writes or writes
// what it looks at.
bool may_move(const Graph& graph, int from, int to) {
  const Node& update = graph.nodes[static_cast<std::size_t>(from)];
  const std::set<int> written = written_by(graph, update), used = resources_of(graph, update);
  const auto meet = [](const std::set<int>& a, const std::set<int>& b) {
    return std::any_of(a.begin(), a.end(), [&](int resource) { return b.contains(resource); });
  };
  for (int i = from + 1; i <= to; ++i) {
    const Node& node = graph.nodes[static_cast<std::size_t>(i)];
    if (meet(written, resources_of(graph, node)) || meet(used, written_by(graph, node))) return false;
  }
  return true;
}

}  // namespace

void schedule(Graph& graph) {
  std::vector<int> standing;  // where the merged update of each kind stands
  std::vector<bool> keep(graph.nodes.size(), true);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    Node& node = graph.nodes[i];
    if (!is_update(node)) continue;
    const auto found = std::find_if(standing.begin(), standing.end(), [&](int other) {
      return mergeable(graph, graph.nodes[static_cast<std::size_t>(other)], node) &&
             may_move(graph, other, static_cast<int>(i));
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
