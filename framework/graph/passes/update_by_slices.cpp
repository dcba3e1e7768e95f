#include <algorithm>
#include <vector>

#include "cohort/core/update_layout.h"
#include "cohort/graph/passes/pass.h"
#include "cohort/graph/passes/rewrite.h"

namespace cohort::passes {
namespace {

using NodeUsers = std::vector<std::vector<std::pair<int, int>>>;

const Node& node_of(const Graph& graph, const Value& value) {
  return graph.nodes[static_cast<std::size_t>(value.node)];
}

// Slices added up along the first axis for `reader` alone; nullptr for anything else.
const Node* scatter_for(const Graph& graph, const NodeUsers& users, const Value& value, int reader) {
  const Node& node = node_of(graph, value);
  if (node.op->name() != "ScatterAddLike" || node.attributes.get<std::int64_t>("axis", 0) != 0) return nullptr;
  return only_user(graph, users, value.node) == reader ? &node : nullptr;
}

// Makes the update at `i` one by slices where its gradient and the squares are made of the same slices.
void use_slices(Graph& graph, const NodeUsers& users, int i) {
  Node& update = graph.nodes[static_cast<std::size_t>(i)];
  const UpdateLayout at(*update.op, update.attributes, static_cast<int>(update.inputs.size()));
  if (at.count() != 1 || !at.has_squares() || at.has_rounded()) return;
  const auto input = [&](int place) { return update.inputs[static_cast<std::size_t>(place)]; };
  const Node* gradient = scatter_for(graph, users, input(at.gradient(0)), i);
  const Node* squares = scatter_for(graph, users, input(at.squares(0)), i);
  if (!gradient || !squares || gradient->inputs[1] != squares->inputs[1]) return;
  const Value values = gradient->inputs[2], indices = gradient->inputs[1];
  const Node& square = node_of(graph, squares->inputs[2]);
  if (square.op->name() != "Square" || square.inputs[0] != values) return;
  const DType dtype = graph.spec(values).dtype;
  if (dtype != DType::Float32 && dtype != DType::Float64) return;
  // Values in the memory of a variable might be what the update is writing.
  if (graph.spec(indices).shape.rank() != 1 || resource_behind(graph, values) >= 0) return;

  const OpDef& op = find_op("AdamSlicesUpdate");
  Attributes attributes{{"rows", gradient->outputs[0].shape[0]}};
  for (const Attributes::Entry& each : update.attributes) {
    if (op.defaults().has(each.name)) attributes.set(each.name, each.value);
  }
  std::vector<Value> inputs(update.inputs.begin(), update.inputs.begin() + at.gradient(0));
  inputs.insert(inputs.end(), {values, indices, input(at.shared(0)), input(at.shared(1))});
  update.op = &op;
  update.attributes = std::move(attributes);
  update.inputs = std::move(inputs);
}

}  // namespace

void update_by_slices(Graph& graph) {
  const NodeUsers users = graph.users();
  for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) {
    if (graph.nodes[static_cast<std::size_t>(i)].op->name() == "AdamUpdate") use_slices(graph, users, i);
  }
  remove_dead_nodes(graph);
}

}  // namespace cohort::passes
