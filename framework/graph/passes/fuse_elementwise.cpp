#include <algorithm>
#include <map>
#include <utility>

#include "cohort/core/mixed_types.h"
#include "cohort/graph/passes/pass.h"
#include "cohort/graph/passes/rewrite.h"
#include "cohort/kernels/fusion.h"

namespace cohort::passes {
namespace {

constexpr std::size_t kLargestGroup = 24;
constexpr std::size_t kMostInputs = 16;

using Users = std::vector<std::vector<std::pair<int, int>>>;

bool fusible_node(const Graph& graph, const Node& node) {
  Specs specs;
  for (const Value& input : node.inputs) specs.push_back(graph.spec(input));
  return node.outputs.size() == 1 && !node.inputs.empty() && kernels::fusible(*node.op, specs);
}

// Casts of half types to float32 that only members of groups read, for each node: they cost nothing but to be written
// and read, so every group that needs one has its own.
std::vector<bool> find_carried_casts(const Graph& graph, const Users& users) {
  std::vector<bool> carried(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.op->name() != "Cast" || node.outputs[0].dtype != DType::Float32) continue;
    // A variable must be read before it is written.
    if (!is_half(graph.spec(node.inputs[0]).dtype) || resource_behind(graph, node.inputs[0]) >= 0) continue;
    carried[i] = !users[i].empty() && std::all_of(users[i].begin(), users[i].end(), [&](const auto& use) {
      const Node& user = graph.nodes[static_cast<std::size_t>(use.first)];
      return fusible_node(graph, user) && user.outputs[0].shape == node.outputs[0].shape;
    });
  }
  for (const Value& output : graph.outputs) carried[static_cast<std::size_t>(output.node)] = false;
  return carried;
}

class Grouping {
 public:
  Grouping(const Graph& graph, const Users& users)
      : graph_(graph),
        dependencies_(dependencies(graph)),
        carried_(find_carried_casts(graph, users)),
        group_(graph.nodes.size(), -1) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) place(static_cast<int>(i));
  }

  // Each in the order of the graph.
  const std::vector<std::vector<int>>& groups() const { return groups_; }
  const std::vector<std::vector<int>>& node_dependencies() const { return dependencies_; }
  // Whether a node is a member of every group that reads it, and of nothing else.
  bool is_carried(int node) const { return carried_[static_cast<std::size_t>(node)]; }

 private:
  const Node& node(int i) const { return graph_.nodes[static_cast<std::size_t>(i)]; }
  std::vector<int>& members(int group) { return groups_[static_cast<std::size_t>(group)]; }
  const std::vector<int>& members(int group) const { return groups_[static_cast<std::size_t>(group)]; }
  int group_of(int i) const { return group_[static_cast<std::size_t>(i)]; }

  // Joins the groups of producers of the same shape where that makes no cycle, else starts a group of its own.
  void place(int i) {
    if (is_carried(i) || !fusible_node(graph_, node(i))) return;
    std::vector<int> added{i}, candidates;
    for (const Value& input : node(i).inputs) {
      if (is_carried(input.node)) added.push_back(input.node);
      const int maker = is_carried(input.node) ? node(input.node).inputs[0].node : input.node;
      if (group_of(maker) >= 0) candidates.push_back(group_of(maker));
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [&](int a, int b) { return members(a).size() > members(b).size(); });
    int home = -1;
    for (int candidate : candidates) {
      if (candidate == home || members(candidate).empty()) continue;
      if (home < 0 && may_join(added, candidate)) {
        home = candidate;
        put(added, home);
      } else if (home >= 0 && may_join(members(candidate), home)) {
        put(std::exchange(members(candidate), {}), home);
      }
    }
    if (home >= 0) return;
    groups_.emplace_back();
    put(added, static_cast<int>(groups_.size()) - 1);
  }

  // Makes nodes members of a group.
  void put(const std::vector<int>& nodes, int group) {
    members(group) = joined(members(group), nodes);
    for (int each : nodes) {
      if (!is_carried(each)) group_[static_cast<std::size_t>(each)] = group;
    }
  }
  static std::vector<int> joined(std::vector<int> all, const std::vector<int>& more) {
    all.insert(all.end(), more.begin(), more.end());
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  // Whether nodes that are in no group yet, or all those of another, may become members of this one.
  bool may_join(const std::vector<int>& nodes, int group) const {
    if (node(nodes[0]).outputs[0].shape != node(members(group)[0]).outputs[0].shape) return false;
    const std::vector<int> all = joined(members(group), nodes);
    if (all.size() > kLargestGroup || external_inputs(all) > kMostInputs) return false;
    // No way from a member through something outside of the group back to another: through its own dependencies, or
    // through other groups, whose members all run at once.
    std::vector<int> outside;
    for (int each : all) {
      for (int before : dependencies_[static_cast<std::size_t>(each)]) {
        if (!std::binary_search(all.begin(), all.end(), before)) outside.push_back(before);
      }
    }
    return !reach(std::move(outside), all);
  }

  // Whether one of `members` must run before one of `nodes`, directly or by way of other groups' members.
  bool reach(std::vector<int> nodes, const std::vector<int>& members_sought) const {
    std::vector<bool> seen(graph_.nodes.size());
    while (!nodes.empty()) {
      const int at = nodes.back();
      nodes.pop_back();
      if (seen[static_cast<std::size_t>(at)]) continue;
      seen[static_cast<std::size_t>(at)] = true;
      // A cast that others have, too, is not this group's.
      if (!is_carried(at) && std::binary_search(members_sought.begin(), members_sought.end(), at)) return true;
      if (group_of(at) >= 0) {
        const std::vector<int>& along = members(group_of(at));
        nodes.insert(nodes.end(), along.begin(), along.end());
      }
      const std::vector<int>& before = dependencies_[static_cast<std::size_t>(at)];
      nodes.insert(nodes.end(), before.begin(), before.end());
    }
    return false;
  }

  std::size_t external_inputs(const std::vector<int>& all) const {
    std::vector<Value> inputs;
    for (int member : all) {
      for (const Value& input : node(member).inputs) {
        if (!std::binary_search(all.begin(), all.end(), input.node)) inputs.push_back(input);
      }
    }
    std::sort(inputs.begin(), inputs.end());
    return static_cast<std::size_t>(std::unique(inputs.begin(), inputs.end()) - inputs.begin());
  }

  const Graph& graph_;
  std::vector<std::vector<int>> dependencies_;
  std::vector<bool> carried_;
  std::vector<int> group_;
  std::vector<std::vector<int>> groups_;
};

// The program of one group, written into a node.
class FusedNode {
 public:
  FusedNode(const Graph& graph, const std::vector<int>& members, const Grouping& grouping, const Users& users)
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
      if (!grouping.is_carried(member) && used_outside(graph, grouping, users, member)) {
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
  // A cast that groups carry is a use by whoever reads it.
  bool used_outside(const Graph& graph, const Grouping& grouping, const Users& users, int member) const {
    const bool leaves = std::any_of(graph.outputs.begin(), graph.outputs.end(),
                                    [&](const Value& output) { return output.node == member; });
    const auto& list = users[static_cast<std::size_t>(member)];
    return leaves || std::any_of(list.begin(), list.end(), [&](const auto& use) {
             return grouping.is_carried(use.first) ? used_outside(graph, grouping, users, use.first)
                                                   : position(use.first) < 0;
           });
  }

  const std::vector<int>& members_;
  std::vector<Value> inputs_;
  std::vector<std::int64_t> results_;
  Specs outputs_;
  Node node_;
};

}  // namespace

void fuse_elementwise(Graph& graph) {
  const Users users = graph.users();
  const Grouping grouping(graph, users);
  std::vector<std::vector<int>> before = grouping.node_dependencies();
  std::vector<bool> keep(graph.nodes.size(), true);
  std::vector<std::pair<Value, Value>> redirected;
  std::vector<std::pair<int, Node>> fused_nodes;
  std::map<int, int> moved;  // member -> the node that now stands for it
  for (const std::vector<int>& members : grouping.groups()) {
    if (members.size() < 2) continue;
    const FusedNode fused(graph, members, grouping, users);
    const int place = members.back();
    for (int member : members) {
      if (!grouping.is_carried(member)) moved[member] = place;
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
