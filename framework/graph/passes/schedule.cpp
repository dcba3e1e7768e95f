#include <map>
#include <set>
#include <string>

#include "cohort/graph/passes/pass.h"
#include "cohort/graph/passes/rewrite.h"

namespace cohort::passes {
namespace {

// An update's inputs are `groups` lists of `count` per-variable values, then what all variables share.
bool is_update(const Node& node) { return node.op->writes_resources() && node.attributes.has("groups"); }

std::string merge_key(const Node& node) {
  Attributes same = node.attributes;
  same.erase("count");
  std::string key = node.op->name() + "{" + same.to_string() + "}";
  const auto own = static_cast<std::size_t>(node.attributes.get<int>("groups") * node.attributes.get<int>("count"));
  for (std::size_t i = own; i < node.inputs.size(); ++i) {
    key += "|" + std::to_string(node.inputs[i].node) + "." + std::to_string(node.inputs[i].output);
  }
  return key;
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

// Whether the update at `from` may take place at `to` instead: nothing in between looks at what it writes.
bool may_move(const Graph& graph, int from, int to) {
  std::set<int> written;
  for (const Value& input : graph.nodes[static_cast<std::size_t>(from)].inputs) {
    if (graph.spec(input).dtype == DType::Resource) written.insert(input.node);
  }
  for (int i = from + 1; i <= to; ++i) {
    for (int resource : resources_of(graph, graph.nodes[static_cast<std::size_t>(i)])) {
      if (written.contains(resource)) return false;
    }
  }
  return true;
}

}  // namespace

void schedule(Graph& graph) {
  std::map<std::string, int> last;  // where the merged update of each kind stands
  std::vector<bool> keep(graph.nodes.size(), true);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    Node& node = graph.nodes[i];
    if (!is_update(node)) continue;
    const std::string key = merge_key(node);
    if (auto found = last.find(key); found != last.end() && may_move(graph, found->second, static_cast<int>(i))) {
      // The merged node stands at the last of them: all gradients are there by then.
      merge(node, graph.nodes[static_cast<std::size_t>(found->second)]);
      std::swap(graph.nodes[static_cast<std::size_t>(found->second)], node);
      keep[static_cast<std::size_t>(found->second)] = false;
    }
    last[key] = static_cast<int>(i);
  }
  compact(graph, keep);
}

}  // namespace cohort::passes
