#include <algorithm>
#include <map>

#include "cohort/graph/passes/pass.h"
#include "cohort/graph/passes/rewrite.h"
#include "cohort/kernels/fusion.h"

namespace cohort::passes {
namespace {

constexpr std::size_t kLargestGroup = 24;
constexpr std::size_t kMostInputs = 16;

class Grouping {
 public:
  explicit Grouping(const Graph& graph)
      : graph_(graph), dependencies_(dependencies(graph)), group_(graph.nodes.size(), -1) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) place(static_cast<int>(i));
  }

  const std::vector<std::vector<int>>& groups() const { return groups_; }
  const std::vector<std::vector<int>>& node_dependencies() const { return dependencies_; }
  int group_of(int node) const { return group_[static_cast<std::size_t>(node)]; }

 private:
  bool fusible_node(const Node& node) const {
    Specs specs;
    for (const Value& input : node.inputs) specs.push_back(graph_.spec(input));
    return node.outputs.size() == 1 && !node.inputs.empty() && kernels::fusible(*node.op, specs);
  }

  // Joins the group of a producer of the same shape where that makes no cycle, else starts a group of its own.
  void place(int node) {
    const Node& n = graph_.nodes[static_cast<std::size_t>(node)];
    if (!fusible_node(n)) return;
    int best = -1;
    for (const Value& input : n.inputs) {
      const int candidate = group_[static_cast<std::size_t>(input.node)];
      if (candidate >= 0 && candidate != best && may_join(node, candidate) &&
          (best < 0 ||
           groups_[static_cast<std::size_t>(candidate)].size() > groups_[static_cast<std::size_t>(best)].size())) {
        best = candidate;
      }
    }
    if (best < 0) {
      best = static_cast<int>(groups_.size());
      groups_.emplace_back();
    }
    groups_[static_cast<std::size_t>(best)].push_back(node);
    group_[static_cast<std::size_t>(node)] = best;
  }

  bool may_join(int node, int group) const {
    const std::vector<int>& members = groups_[static_cast<std::size_t>(group)];
    const Node& n = graph_.nodes[static_cast<std::size_t>(node)];
    const Shape& shape = graph_.nodes[static_cast<std::size_t>(members[0])].outputs[0].shape;
    if (n.outputs[0].shape != shape || members.size() >= kLargestGroup || external_inputs(members, n) > kMostInputs)
      return false;
    // No way from the group through something outside of it back to this node: through its own dependencies, or
    // through other groups, whose members all run at once.
    for (int before : dependencies_[static_cast<std::size_t>(node)]) {
      if (group_[static_cast<std::size_t>(before)] == group) continue;
      if (reaches(group, before)) return false;
    }
    return true;
  }

  // Whether a member of `group` must run before `node`, directly or by way of other groups' members.
  bool reaches(int group, int node) const {
    std::vector<int> stack{node};
    std::vector<bool> seen(graph_.nodes.size());
    while (!stack.empty()) {
      const int at = stack.back();
      stack.pop_back();
      if (seen[static_cast<std::size_t>(at)]) continue;
      seen[static_cast<std::size_t>(at)] = true;
      const int of = group_[static_cast<std::size_t>(at)];
      if (of == group) return true;
      if (of >= 0) {
        for (int member : groups_[static_cast<std::size_t>(of)]) {
          if (!seen[static_cast<std::size_t>(member)]) stack.push_back(member);
        }
      }
      for (int before : dependencies_[static_cast<std::size_t>(at)]) {
        if (!seen[static_cast<std::size_t>(before)]) stack.push_back(before);
      }
    }
    return false;
  }

  std::size_t external_inputs(const std::vector<int>& members, const Node& extra) const {
    std::vector<Value> inputs(extra.inputs);
    for (int member : members) {
      const Node& node = graph_.nodes[static_cast<std::size_t>(member)];
      inputs.insert(inputs.end(), node.inputs.begin(), node.inputs.end());
    }
    std::sort(inputs.begin(), inputs.end());
    inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
    return static_cast<std::size_t>(std::count_if(inputs.begin(), inputs.end(), [&](const Value& input) {
      return std::find(members.begin(), members.end(), input.node) == members.end();
    }));
  }

  const Graph& graph_;
  std::vector<std::vector<int>> dependencies_;
  std::vector<int> group_;
  std::vector<std::vector<int>> groups_;
};

// The program of one group, written into a node.
class FusedNode {
 public:
  FusedNode(const Graph& graph, const std::vector<int>& members,
            const std::vector<std::vector<std::pair<int, int>>>& users)
      : members_(members) {
    for (int member : members) {
      for (const Value& input : graph.nodes[static_cast<std::size_t>(member)].inputs) {
        if (position(input.node) < 0 && std::find(inputs_.begin(), inputs_.end(), input) == inputs_.end())
          inputs_.push_back(input);
      }
    }
    std::vector<std::string> ops;
    std::vector<std::int64_t> args, arity, dtypes;
    for (int member : members) {
      const Node& node = graph.nodes[static_cast<std::size_t>(member)];
      ops.push_back(node.op->name());
      arity.push_back(static_cast<std::int64_t>(node.inputs.size()));
      dtypes.push_back(static_cast<std::int64_t>(node.outputs[0].dtype));
      for (const Value& input : node.inputs) args.push_back(operand(input));
      if (used_outside(graph, users, member)) {
        results_.push_back(static_cast<std::int64_t>(position(member)));
        outputs_.push_back(node.outputs[0]);
      }
    }
    node_ = graph.nodes[static_cast<std::size_t>(members.back())];
    node_.op = &find_op("FusedElementwise");
    node_.inputs = inputs_;
    node_.outputs = outputs_;
    node_.attributes = {{"ops", ops}, {"args", args}, {"arity", arity}, {"dtypes", dtypes}, {"results", results_}};
  }

  const Node& node() const { return node_; }
  // Which output of the fused node a member's value is, -1 when nobody outside needs it.
  int output_of(int member) const {
    const auto found = std::find(results_.begin(), results_.end(), position(member));
    return found == results_.end() ? -1 : static_cast<int>(found - results_.begin());
  }

 private:
  std::int64_t position(int node) const {
    const auto found = std::find(members_.begin(), members_.end(), node);
    return found == members_.end() ? -1 : found - members_.begin();
  }
  std::int64_t operand(const Value& input) const {
    if (const std::int64_t member = position(input.node); member >= 0)
      return static_cast<std::int64_t>(inputs_.size()) + member;
    return std::find(inputs_.begin(), inputs_.end(), input) - inputs_.begin();
  }
  bool used_outside(const Graph& graph, const std::vector<std::vector<std::pair<int, int>>>& users, int member) const {
    for (const Value& output : graph.outputs) {
      if (output.node == member) return true;
    }
    const auto& list = users[static_cast<std::size_t>(member)];
    return std::any_of(list.begin(), list.end(), [&](const auto& use) { return position(use.first) < 0; });
  }

  const std::vector<int>& members_;
  std::vector<Value> inputs_;
  std::vector<std::int64_t> results_;
  Specs outputs_;
  Node node_;
};

}  // namespace

void fuse_elementwise(Graph& graph) {
  const Grouping grouping(graph);
  const auto users = graph.users();
  std::vector<std::vector<int>> before = grouping.node_dependencies();
  std::vector<bool> keep(graph.nodes.size(), true);
  std::vector<std::pair<Value, Value>> redirected;
  std::vector<std::pair<int, Node>> fused_nodes;
  std::map<int, int> moved;  // member -> the node that now stands for it
  for (const std::vector<int>& members : grouping.groups()) {
    if (members.size() < 2) continue;
    const FusedNode fused(graph, members, users);
    const int place = members.back();
    for (int member : members) {
      moved[member] = place;
      if (member != place) {
        keep[static_cast<std::size_t>(member)] = false;
        auto& own = before[static_cast<std::size_t>(place)];
        own.insert(own.end(), before[static_cast<std::size_t>(member)].begin(),
                   before[static_cast<std::size_t>(member)].end());
      }
      if (const int output = fused.output_of(member); output >= 0) redirected.push_back({{member, 0}, {place, output}});
    }
    fused_nodes.emplace_back(place, fused.node());
  }
  for (auto& [place, node] : fused_nodes) graph.nodes[static_cast<std::size_t>(place)] = std::move(node);
  auto redirect = [&](Value& value) {
    for (const auto& [from, to] : redirected) {
      if (value == from) {
        value = to;
        return;
      }
    }
  };
  for (Node& node : graph.nodes) {
    for (Value& input : node.inputs) redirect(input);
  }
  for (Value& output : graph.outputs) redirect(output);
  for (std::size_t i = 0; i < before.size(); ++i) {
    for (int& node : before[i]) {
      if (auto found = moved.find(node); found != moved.end()) node = found->second;
    }
    std::erase(before[i], static_cast<int>(i));
    if (!keep[i]) before[i].clear();
  }
  // Removed members stay in the list while it is sorted, without inputs or outputs; then they are dropped.
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (keep[i]) continue;
    graph.nodes[i].inputs.clear();
    graph.nodes[i].outputs.clear();
  }
  reorder(graph, before);
  std::vector<bool> kept(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    kept[i] = !graph.nodes[i].outputs.empty() || graph.nodes[i].op->is_stateful();
  }
  compact(graph, kept);
}

}  // namespace cohort::passes
