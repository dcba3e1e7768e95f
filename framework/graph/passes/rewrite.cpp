#include "cohort/graph/passes/rewrite.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>

namespace cohort::passes {
namespace {

void renumber(Graph& graph, const std::vector<int>& order) {
  std::vector<int> position(graph.nodes.size(), -1);
  std::vector<Node> nodes;
  for (int old : order) {
    position[static_cast<std::size_t>(old)] = static_cast<int>(nodes.size());
    nodes.push_back(std::move(graph.nodes[static_cast<std::size_t>(old)]));
  }
  auto moved = [&](int node) { return position[static_cast<std::size_t>(node)]; };
  for (Node& node : nodes) {
    for (Value& input : node.inputs) input.node = moved(input.node);
  }
  for (int& input : graph.inputs) input = moved(input);
  for (Value& output : graph.outputs) output.node = moved(output.node);
  graph.nodes = std::move(nodes);
}

// Prints, assertions, iterators: in a fixed order. What a branch or body does is not looked into.
bool has_effects_beyond_resources(const Node& node) {
  if (!node.op->is_stateful()) return false;
  if (!node.op->writes_resources()) return true;
  return std::any_of(node.attributes.begin(), node.attributes.end(), [](const Attributes::Entry& entry) {
    return std::holds_alternative<std::shared_ptr<const Graph>>(entry.value);
  });
}

bool is_output(const Graph& graph, int node) {
  return std::any_of(graph.outputs.begin(), graph.outputs.end(),
                     [&](const Value& output) { return output.node == node; });
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

}  // namespace

bool is_input(const Node& node) { return node.op->name() == "Input"; }
bool is_constant(const Node& node) { return node.op->name() == "Constant"; }

void compact(Graph& graph, const std::vector<bool>& keep) {
  std::vector<int> order;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (keep[i] || is_input(graph.nodes[i])) order.push_back(static_cast<int>(i));
  }
  renumber(graph, order);
}

void replace_uses(Graph& graph, Value from, Value to) {
  for (Node& node : graph.nodes) std::replace(node.inputs.begin(), node.inputs.end(), from, to);
  std::replace(graph.outputs.begin(), graph.outputs.end(), from, to);
}

int resource_behind(const Graph& graph, Value value) {
  for (;;) {
    const Node& node = graph.nodes[static_cast<std::size_t>(value.node)];
    if (is_input(node)) return node.outputs[0].dtype == DType::Resource ? value.node : -1;
    if (!node.op->is_alias()) return -1;
    value = node.inputs[0];
  }
}

int only_user(const Graph& graph, const std::vector<std::vector<std::pair<int, int>>>& users, int node) {
  const auto& list = users[static_cast<std::size_t>(node)];
  if (is_output(graph, node) || list.empty()) return -1;
  for (const auto& [user, position] : list) {
    if (user != list.front().first) return -1;
  }
  return list.size() == 1 ? list.front().first : -1;
}

bool may_move_write(const Graph& graph, int from, int to) {
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

std::vector<std::vector<int>> dependencies(const Graph& graph) {
  std::vector<std::vector<int>> result(graph.nodes.size());
  struct Uses {
    int last_write = -1;
    std::vector<int> reads_since;
  };
  std::map<int, Uses> resources;
  int last_effect = -1;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    std::vector<int>& before = result[i];
    for (const Value& input : node.inputs) before.push_back(input.node);
    if (has_effects_beyond_resources(node)) {
      if (last_effect >= 0) before.push_back(last_effect);
      last_effect = static_cast<int>(i);
    }
    for (const Value& input : node.inputs) {
      const int resource = resource_behind(graph, input);
      if (resource < 0) continue;
      Uses& uses = resources[resource];
      const bool writes = node.op->writes_resources() && graph.spec(input).dtype == DType::Resource;
      if (uses.last_write >= 0 && uses.last_write != static_cast<int>(i)) before.push_back(uses.last_write);
      if (writes) {
        for (int read : uses.reads_since) {
          if (read != static_cast<int>(i)) before.push_back(read);
        }
        uses.reads_since.clear();
        uses.last_write = static_cast<int>(i);
      } else {
        uses.reads_since.push_back(static_cast<int>(i));
      }
    }
  }
  return result;
}

void put_in_order(Graph& graph, const std::vector<int>& order) {
  if (order.size() != graph.nodes.size()) {
    throw internal_error("put_in_order", "every node has a place", {{"nodes", graph.nodes.size()}});
  }
  renumber(graph, order);
}

void reorder(Graph& graph, const std::vector<std::vector<int>>& dependencies) {
  const std::size_t count = graph.nodes.size();
  std::vector<int> waiting(count, 0);
  std::vector<std::vector<int>> followers(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (int before : dependencies[i]) {
      followers[static_cast<std::size_t>(before)].push_back(static_cast<int>(i));
      ++waiting[i];
    }
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (std::size_t i = 0; i < count; ++i) {
    if (waiting[i] == 0) ready.push(static_cast<int>(i));
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int node = ready.top();
    ready.pop();
    order.push_back(node);
    for (int follower : followers[static_cast<std::size_t>(node)]) {
      if (--waiting[static_cast<std::size_t>(follower)] == 0) ready.push(follower);
    }
  }
  if (order.size() != count) throw internal_error("reorder", "a graph has no cycles", {{"nodes", count}});
  renumber(graph, order);
}

}  // namespace cohort::passes
