#include <algorithm>
#include <string>

#include "cohort/graph/passes/pass.h"
#include "cohort/graph/passes/rewrite.h"

namespace cohort::passes {
namespace {

bool is_activation(const Node& node) {
  const std::string& op = node.op->name();
  return op == "Relu" || op == "Sigmoid" || op == "Tanh";
}

// The op that computes a node together with a bias and an activation, "" when there is none.
std::string fused_name(const Graph& graph, const Node& node) {
  if (!is_floating(node.outputs[0].dtype)) return "";
  if (node.op->name() == "Conv") return "FusedConv";
  const bool rows = node.op->name() == "MatMul" && graph.spec(node.inputs[0]).shape.rank() >= 2 &&
                    graph.spec(node.inputs[1]).shape.rank() == 2;
  return rows ? "FusedMatMul" : "";
}

}  // namespace

// MatMul or Conv + Add of a row vector [+ activation]. The fused node stands where the last of them stood.
void fuse_epilogues(Graph& graph) {
  const auto users = graph.users();
  std::vector<bool> keep(graph.nodes.size(), true);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& product = graph.nodes[i];
    if (product.outputs.empty()) continue;
    const std::string name = fused_name(graph, product);
    if (name.empty()) continue;
    const int add = only_user(graph, users, static_cast<int>(i));
    if (add < 0 || graph.nodes[static_cast<std::size_t>(add)].op->name() != "Add") continue;
    Node& sum = graph.nodes[static_cast<std::size_t>(add)];
    const Value bias = sum.inputs[0].node == static_cast<int>(i) ? sum.inputs[1] : sum.inputs[0];
    if (bias.node == static_cast<int>(i) || sum.outputs[0] != product.outputs[0]) continue;
    if (graph.spec(bias).shape != Shape{product.outputs[0].shape.back()}) continue;

    Node fused = product;
    fused.op = &find_op(name);
    fused.inputs.push_back(bias);
    int last = add;
    const int activation = only_user(graph, users, add);
    if (activation >= 0 && is_activation(graph.nodes[static_cast<std::size_t>(activation)])) {
      fused.attributes.set("activation", AttributeValue(graph.nodes[static_cast<std::size_t>(activation)].op->name()));
      last = activation;
    }
    keep[i] = keep[static_cast<std::size_t>(add)] = false;
    keep[static_cast<std::size_t>(last)] = true;
    graph.nodes[static_cast<std::size_t>(last)] = std::move(fused);
  }
  compact(graph, keep);
}

}  // namespace cohort::passes
