#include <algorithm>
#include <string>
#include <vector>

#include "cohort/core/mixed_types.h"
#include "cohort/graph/passes/pass.h"
#include "cohort/graph/passes/rewrite.h"

namespace cohort::passes {
namespace {

// The gradient of a cross-entropy has dloss, logits and labels as its first inputs, the loss has the other two.
struct LossPair {
  const char *loss, *gradient, *joined;
};
constexpr LossPair kLossPairs[] = {
    {"SparseSoftmaxCrossEntropyRows", "SparseSoftmaxCrossEntropyRowsGrad", "SparseSoftmaxCrossEntropyAndGrad"},
    {"SoftmaxCrossEntropy", "SoftmaxCrossEntropyGrad", "SoftmaxCrossEntropyAndGrad"},
};

const LossPair* pair_of_gradient(const Node& node) {
  for (const LossPair& pair : kLossPairs) {
    if (node.op->name() == pair.gradient) return &pair;
  }
  return nullptr;
}

bool has_loss_gradient(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) { return pair_of_gradient(node); });
}

// What flows to the losses of a mean is one number for all, spread out like them: the shape is known without them.
void spread_without_waiting(Graph& graph) {
  for (Node& node : graph.nodes) {
    if (node.op->name() != "BroadcastLike" || graph.spec(node.inputs[0]).shape.rank() != 0) continue;
    const Shape& shape = node.outputs[0].shape;
    std::vector<std::int64_t> sizes;
    for (int axis = 0; axis < shape.rank(); ++axis) sizes.push_back(shape[axis]);
    node.op = &find_op("BroadcastTo");
    node.inputs.resize(1);
    node.attributes = {{"shape", sizes}};
  }
}

class LossJoining {
 public:
  explicit LossJoining(Graph& graph) : graph_(graph), before_(dependencies(graph)), users_(graph.users()) {}

  // Joins the first pair that can be; false when there is none.
  bool join_one() {
    for (int i = 0; i < static_cast<int>(graph_.nodes.size()); ++i) {
      const LossPair* pair = pair_of_gradient(node(i));
      const int loss = pair ? find_loss(*pair, i) : -1;
      if (loss < 0 || gradient_waits_for(loss, i)) continue;
      join(*pair, loss, i);
      return true;
    }
    return false;
  }

 private:
  Node& node(int i) { return graph_.nodes[static_cast<std::size_t>(i)]; }
  std::vector<int>& before(int i) { return before_[static_cast<std::size_t>(i)]; }

  // The loss of the same logits and labels, of which nobody but this gradient needs more than the loss.
  int find_loss(const LossPair& pair, int gradient) {
    const std::vector<Value> wanted(node(gradient).inputs.begin() + 1, node(gradient).inputs.begin() + 3);
    for (int i = 0; i < gradient; ++i) {
      if (node(i).op->name() != pair.loss || node(i).inputs != wanted) continue;
      const bool alone = std::all_of(
          users_[static_cast<std::size_t>(i)].begin(), users_[static_cast<std::size_t>(i)].end(), [&](const auto& use) {
            return use.first == gradient || node(use.first).inputs[static_cast<std::size_t>(use.second)].output == 0;
          });
      const bool leaves = std::find(graph_.outputs.begin(), graph_.outputs.end(), Value{i, 1}) != graph_.outputs.end();
      const bool same_type = graph_.spec(node(gradient).inputs[0]).dtype == node(i).outputs[0].dtype;
      if (alone && !leaves && same_type) return i;
    }
    return -1;
  }

  // Whether what flows to the loss is made of it, or must else come after it.
  bool gradient_waits_for(int loss, int gradient) {
    std::vector<bool> seen(graph_.nodes.size());
    std::vector<int> open = before(gradient);
    std::erase(open, loss);
    while (!open.empty()) {
      const int at = open.back();
      open.pop_back();
      if (at == loss) return true;
      if (seen[static_cast<std::size_t>(at)]) continue;
      seen[static_cast<std::size_t>(at)] = true;
      open.insert(open.end(), before(at).begin(), before(at).end());
    }
    return false;
  }

  // The joined node stands for the gradient; what reads the loss comes after it.
  void join(const LossPair& pair, int loss, int gradient) {
    Node& joined = node(gradient);
    joined.op = &find_op(pair.joined);
    joined.name = node(loss).name;
    joined.inputs.resize(3);
    joined.outputs.push_back(node(loss).outputs[0]);
    // The logits may be in a half type, of which the loss knows.
    joined.attributes.set(kComputeType, AttributeValue(node(loss).outputs[0].dtype));
    replace_uses(graph_, {loss, 0}, {gradient, 1});
    before(gradient).insert(before(gradient).end(), before(loss).begin(), before(loss).end());
    before(loss).clear();
    for (std::vector<int>& each : before_) std::replace(each.begin(), each.end(), loss, gradient);
    std::erase(before(gradient), gradient);
    node(loss).inputs.clear();
    node(loss).outputs.clear();
    reorder(graph_, before_);
    remove_dead_nodes(graph_);
  }

  Graph& graph_;
  std::vector<std::vector<int>> before_;
  const std::vector<std::vector<std::pair<int, int>>> users_;
};

}  // namespace

void join_loss_gradients(Graph& graph) {
  if (!has_loss_gradient(graph)) return;
  spread_without_waiting(graph);
  while (LossJoining(graph).join_one()) {
  }
}

}  // namespace cohort::passes
