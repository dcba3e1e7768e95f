#include <algorithm>
#include <map>
#include <vector>

#include "cohort/core/mixed_types.h"
#include "cohort/core/update_layout.h"
#include "cohort/graph/passes/pass.h"
#include "cohort/graph/passes/rewrite.h"
#include "cohort/graph/resource_use.h"

namespace cohort::passes {
namespace {

class CopyKeeping {
 public:
  explicit CopyKeeping(Graph& graph) : graph_(graph) {}

  std::vector<RoundedInput> run() {
    for (int i = 0; i < static_cast<int>(graph_.nodes.size()); ++i) look_at(i);
    std::erase_if(variables_, [&](const auto& each) { return !can_be_kept(each.first, each.second); });
    if (variables_.empty()) return {};
    for (const auto& [resource, uses] : variables_) add_input(resource, uses);
    put_inputs_first();
    remove_dead_nodes(graph_);
    return std::move(added_);
  }

 private:
  // What is done with a variable; all are nodes.
  struct Uses {
    DType half = DType::Float32;
    std::vector<int> casts;  // to the half type, of the variable as it stands
    std::vector<int> writes;
  };

  Node& node(int i) { return graph_.nodes[static_cast<std::size_t>(i)]; }
  const Node& node(int i) const { return graph_.nodes[static_cast<std::size_t>(i)]; }

  void look_at(int i) {
    for (const ResourceUse& use : resource_uses(graph_, node(i))) {
      if (use.writes) variables_[use.resource].writes.push_back(i);
    }
    if (node(i).op->name() != "Cast") return;
    const Value& value = node(i).inputs[0];
    const DType half = node(i).outputs[0].dtype;
    if (node(value.node).op->name() != "ReadVariable" || graph_.spec(value).dtype != DType::Float32 || !is_half(half)) {
      return;
    }
    Uses& uses = variables_[node(value.node).inputs[0].node];
    if (!uses.casts.empty() && uses.half != half) return;
    // A write between the two has left the value behind that the cast is of.
    if (!uses.writes.empty() && uses.writes.back() > value.node) return;
    uses.half = half;
    uses.casts.push_back(i);
  }

  bool can_be_kept(int resource, const Uses& uses) const {
    const auto rounds = [&](int write) {
      const Node& update = node(write);
      if (!UpdateLayout::describes(*update.op) || !UpdateLayout::rounds(*update.op)) return false;
      const UpdateLayout at(*update.op, update.attributes, static_cast<int>(update.inputs.size()));
      // As its variable and not as a slot.
      return at.count() == 1 && !at.has_rounded() &&
             update.inputs[static_cast<std::size_t>(at.variable(0))].node == resource &&
             std::count(update.inputs.begin(), update.inputs.end(), Value{resource, 0}) == 1;
    };
    return !uses.casts.empty() && !uses.writes.empty() && std::all_of(uses.writes.begin(), uses.writes.end(), rounds);
  }

  void add_input(int resource, const Uses& uses) {
    const TensorSpec spec = node(uses.casts[0]).outputs[0];
    Node input;
    input.op = node(resource).op;
    input.outputs = node(resource).outputs;
    input.name = node(resource).name + "/rounded";
    const Value copy{static_cast<int>(graph_.nodes.size()), 0};
    for (int cast : uses.casts) {
      node(cast).op = &find_op("ReadVariable");
      node(cast).inputs = {copy};
      node(cast).attributes = {{"dtype", spec.dtype}, {"shape", spec.shape}};
    }
    for (int write : uses.writes) {
      Node& update = node(write);
      const UpdateLayout at(*update.op, update.attributes, static_cast<int>(update.inputs.size()));
      update.inputs.insert(update.inputs.begin() + at.shared(0), copy);
      UpdateLayout::add_rounded(*update.op, update.attributes, uses.half);
    }
    const auto variable = std::find(graph_.inputs.begin(), graph_.inputs.end(), resource) - graph_.inputs.begin();
    added_.push_back({static_cast<int>(variable), static_cast<int>(graph_.inputs.size()), spec});
    graph_.nodes.push_back(std::move(input));
    graph_.inputs.push_back(copy.node);
  }

  // The new inputs were added at the end, behind those that use them.
  void put_inputs_first() {
    const auto added = static_cast<int>(added_.size());
    std::rotate(graph_.nodes.begin(), graph_.nodes.end() - added, graph_.nodes.end());
    const auto count = static_cast<int>(graph_.nodes.size());
    const auto move = [&](int& index) { index = (index + added) % count; };
    for (Node& each : graph_.nodes) {
      for (Value& input : each.inputs) move(input.node);
    }
    for (int& input : graph_.inputs) move(input);
    for (Value& output : graph_.outputs) move(output.node);
  }

  Graph& graph_;
  std::map<int, Uses> variables_;  // by the graph's input
  std::vector<RoundedInput> added_;
};

}  // namespace

std::vector<RoundedInput> keep_rounded_copies(Graph& graph) { return CopyKeeping(graph).run(); }

}  // namespace cohort::passes
