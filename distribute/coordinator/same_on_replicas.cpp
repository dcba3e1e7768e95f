#include "cohort/distribute/coordinator/same_on_replicas.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/distribute/collective/collective_ops.h"
#include "cohort/distribute/coordinator/remote_variable.h"

namespace cohort::distribute {
namespace {

bool is_same(const PlacedInput& input) {
  if (input.kind == PlacedInput::Kind::Element || input.kind == PlacedInput::Kind::LossShare) return false;
  return input.kind != PlacedInput::Kind::Resource ||
         dynamic_cast<const RemoteVariable*>(input.resource.resource().get());
}

// What is known of the function's values, in the order in which they are computed.
class SameValues {
 public:
  SameValues(const PartitionedGraph& parts, const std::vector<PlacedInput>& inputs)
      : inputs_(inputs.size()), slots_(static_cast<std::size_t>(parts.slots)) {
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs_[i] = is_same(inputs[i]);
  }

  bool at(int source) const {
    return source >= 0 ? inputs_[static_cast<std::size_t>(source)] : slots_[static_cast<std::size_t>(~source)];
  }
  void set_slot(int slot, bool same) { slots_[static_cast<std::size_t>(slot)] = same; }

  void run(const WorkerStage& stage) {
    const Graph& graph = stage.graph;
    std::vector<bool> same(graph.nodes.size());
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      same[static_cast<std::size_t>(graph.inputs[i])] = at(stage.inputs[i]);
    }
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      if (std::find(graph.inputs.begin(), graph.inputs.end(), static_cast<int>(i)) != graph.inputs.end()) continue;
      same[i] = is_collective(*node.op) || std::all_of(node.inputs.begin(), node.inputs.end(), [&](const Value& input) {
                  return same[static_cast<std::size_t>(input.node)];
                });
    }
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      set_slot(stage.outputs[i], same[static_cast<std::size_t>(graph.outputs[i].node)]);
    }
  }

 private:
  std::vector<bool> inputs_, slots_;
};

}  // namespace

void check_same_on_replicas(const PartitionedGraph& parts, const FunctionDescription& description) {
  SameValues same(parts, description.inputs);
  for (std::size_t i = 0; i < parts.stages.size(); ++i) {
    same.run(parts.stages[i]);
    if (i == parts.rounds.size()) break;
    for (const ServerExchange& exchange : parts.rounds[i]) {
      for (std::size_t k = 0; k < exchange.sent.size(); ++k) {
        if (same.at(exchange.sent[k])) continue;
        const auto input = static_cast<std::size_t>(exchange.graph.inputs[k]);
        throw failed_precondition(
            "ParameterServerStrategy", "what a worker's devices send to a ps must be the same on all of them",
            {{"value", exchange.graph.nodes[input].name}, {"ps", exchange.server}, {"devices", description.replicas}},
            "Apply gradients inside of strategy.run(), or reduce the value first.");
      }
      for (int slot : exchange.returned) same.set_slot(slot, true);
    }
  }
  for (std::size_t i = 0; i < parts.outputs.size() && !description.joins_outputs; ++i) {
    if (same.at(parts.outputs[i])) continue;
    throw failed_precondition("ClusterCoordinator", "a function that is run in step must return reduced values",
                              {{"output", i}, {"devices", description.replicas}},
                              "Return strategy.reduce(ReduceOp::Sum, strategy.run(...)).");
  }
}

}  // namespace cohort::distribute
