#include <algorithm>
#include <utility>

#include "cohort/graph/passes/pass.h"

namespace cohort::passes {

// relu_grad(max_pool_grad(dy, index, y), y) -> max_pool_grad(relu_grad(dy, pooled), index, y), where (pooled, index) =
// max_pool(y). Each dy reaches one element of its window, which is the pooled one: the mask is the same, over as many
// elements less as a window has.
void mask_before_unpool(Graph& graph) {
  const auto users = graph.users();
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    Node& mask = graph.nodes[i];
    if (mask.op->name() != "ReluGrad" || mask.inputs[0].output != 0) continue;
    const int at = mask.inputs[0].node;
    Node& unpool = graph.nodes[static_cast<std::size_t>(at)];
    if (unpool.op->name() != "MaxPoolGrad" || users[static_cast<std::size_t>(at)].size() != 1) continue;
    if (std::find(graph.outputs.begin(), graph.outputs.end(), mask.inputs[0]) != graph.outputs.end()) continue;
    const Value pool = {unpool.inputs[1].node, 0};
    const Node& pooled = graph.nodes[static_cast<std::size_t>(pool.node)];
    if (pooled.op->name() != "MaxPool" || pooled.inputs[0] != mask.inputs[1]) continue;
    const TensorSpec dy = graph.spec(unpool.inputs[0]);
    if (dy != graph.spec(pool) || unpool.outputs[0] != mask.outputs[0]) continue;

    const Value upstream = unpool.inputs[0];
    std::swap(mask, unpool);  // what was masked last is masked first: both keep their places in the order
    unpool.inputs = {upstream, pool};
    unpool.outputs = {dy};
    mask.inputs[0] = {at, 0};
  }
}

}  // namespace cohort::passes
