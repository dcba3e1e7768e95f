#include <algorithm>
#include <vector>

#include "cohort/core/mixed_types.h"
#include "cohort/graph/passes/pass.h"

namespace cohort::passes {
namespace {

// The gradients that are all that reads the softmax which a cross-entropy keeps; false when something else does.
bool find_gradients(const Graph& graph, int loss, const std::vector<std::pair<int, int>>& users,
                    std::vector<int>& gradients) {
  const Value softmax{loss, 1};
  if (std::find(graph.outputs.begin(), graph.outputs.end(), softmax) != graph.outputs.end()) return false;
  for (const auto& [user, position] : users) {
    const Node& reader = graph.nodes[static_cast<std::size_t>(user)];
    if (reader.inputs[static_cast<std::size_t>(position)] != softmax) continue;
    if (reader.op->name() != "SparseSoftmaxCrossEntropyGrad" || position != 1) return false;
    if (graph.spec(reader.inputs[0]).dtype != graph.spec({loss, 0}).dtype) return false;
    gradients.push_back(user);
  }
  return true;
}

}  // namespace

void keep_row_statistics(Graph& graph) {
  const auto users = graph.users();
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    Node& loss = graph.nodes[i];
    const int at = static_cast<int>(i);
    std::vector<int> gradients;
    if (loss.op->name() != "SparseSoftmaxCrossEntropy" || !find_gradients(graph, at, users[i], gradients)) continue;
    loss.op = &find_op("SparseSoftmaxCrossEntropyRows");
    loss.outputs[1].shape = loss.outputs[0].shape;
    for (int user : gradients) {
      Node& gradient = graph.nodes[static_cast<std::size_t>(user)];
      gradient.op = &find_op("SparseSoftmaxCrossEntropyRowsGrad");
      gradient.inputs = {gradient.inputs[0], loss.inputs[0], gradient.inputs[2], {at, 1}};
      // The logits may be read in a half type, of which the loss knows.
      gradient.attributes.set(kComputeType, AttributeValue(loss.outputs[0].dtype));
    }
  }
}

}  // namespace cohort::passes
