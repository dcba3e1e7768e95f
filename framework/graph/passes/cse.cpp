#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "cohort/graph/passes/pass.h"
#include "cohort/graph/passes/rewrite.h"

namespace cohort::passes {
namespace {

// Whether two runs of the node in one step must give the same result.
bool repeatable(const Node& node) {
  return !node.op->is_random() && !node.op->is_stateful() && !is_input(node) && !node.outputs.empty();
}

}  // namespace

void copy_reads_that_outlive_writes(Graph& graph) {
  // Positions of the writes to each resource input, in order.
  std::map<int, std::vector<int>> writes;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!graph.nodes[i].op->writes_resources()) continue;
    for (const Value& input : graph.nodes[i].inputs) {
      if (graph.spec(input).dtype == DType::Resource) writes[input.node].push_back(static_cast<int>(i));
    }
  }
  const auto users = graph.users();
  // Last node that still looks at the memory behind a value, through reshapes too; a graph output looks at the end.
  auto last_look = [&](auto&& self, int node) -> int {
    int last = node;
    for (const auto& [user, position] : users[static_cast<std::size_t>(node)]) {
      const bool alias = position == 0 && graph.nodes[static_cast<std::size_t>(user)].op->is_alias();
      last = std::max(last, alias ? self(self, user) : user);
    }
    for (const Value& output : graph.outputs) {
      if (output.node == node) last = static_cast<int>(graph.nodes.size());
    }
    return last;
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    Node& node = graph.nodes[i];
    if (node.op->name() != "ReadVariable") continue;
    const std::vector<int>& later = writes[node.inputs[0].node];
    const auto next_write = std::upper_bound(later.begin(), later.end(), static_cast<int>(i));
    if (next_write == later.end()) continue;
    const int last = last_look(last_look, static_cast<int>(i));
    // An assignment may take its own variable's value: each element is read before it is written.
    const bool by_element = graph.nodes[static_cast<std::size_t>(*next_write)].op->name().starts_with("Assign");
    if (last > *next_write || (last == *next_write && !by_element)) node.op = &find_op("CopyVariable");
  }
}

void remove_dead_nodes(Graph& graph) {
  std::vector<bool> keep(graph.nodes.size());
  for (const Value& output : graph.outputs) keep[static_cast<std::size_t>(output.node)] = true;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    if (graph.nodes[i].op->is_stateful()) keep[i] = true;
    if (!keep[i]) continue;
    for (const Value& input : graph.nodes[i].inputs) keep[static_cast<std::size_t>(input.node)] = true;
  }
  compact(graph, keep);
}

void eliminate_common_subexpressions(Graph& graph) {
  // How often each resource has been written so far: a read after a write is another value.
  std::map<int, int> version;
  std::unordered_map<std::string, std::vector<int>> seen;
  std::vector<bool> keep(graph.nodes.size(), true);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    Node& node = graph.nodes[i];
    if (node.op->writes_resources()) {
      for (const Value& input : node.inputs) {
        if (graph.spec(input).dtype == DType::Resource) ++version[input.node];
      }
    }
    if (!repeatable(node)) continue;
    std::string key = node.op->name();
    for (const Value& input : node.inputs) {
      key += "|" + std::to_string(input.node) + "." + std::to_string(input.output);
      if (graph.spec(input).dtype == DType::Resource) key += "v" + std::to_string(version[input.node]);
    }
    std::vector<int>& candidates = seen[key];
    bool merged = false;
    for (int other : candidates) {
      const Node& first = graph.nodes[static_cast<std::size_t>(other)];
      bool same = first.attributes == node.attributes;
      if (!same && is_constant(node)) {
        const Tensor a = first.attributes.get<Tensor>("value"), b = node.attributes.get<Tensor>("value");
        same = a.spec() == b.spec() && is_plain(a.dtype()) && a.bytes() <= 64 &&
               std::string_view(static_cast<const char*>(a.raw()), a.bytes()) ==
                   std::string_view(static_cast<const char*>(b.raw()), b.bytes());
      }
      if (!same) continue;
      for (std::size_t k = 0; k < node.outputs.size(); ++k) {
        replace_uses(graph, {static_cast<int>(i), static_cast<int>(k)}, {other, static_cast<int>(k)});
      }
      keep[i] = false;
      merged = true;
      break;
    }
    if (!merged) candidates.push_back(static_cast<int>(i));
  }
  compact(graph, keep);
  remove_dead_nodes(graph);
}

}  // namespace cohort::passes
