#include "cohort/graph/passes/pass.h"
#include "cohort/graph/passes/rewrite.h"

namespace cohort::passes {
namespace {

// Swaps exactly the last two axes.
bool swaps_last_two(const Graph& graph, const Node& node) {
  if (node.op->name() != "Transpose") return false;
  const int rank = graph.spec(node.inputs[0]).shape.rank();
  const auto perm = node.attributes.get<std::vector<std::int64_t>>("perm", std::vector<std::int64_t>{});
  if (rank < 2) return false;
  if (perm.empty()) return rank == 2;
  for (int i = 0; i < rank - 2; ++i) {
    if (perm[static_cast<std::size_t>(i)] != i) return false;
  }
  return perm[static_cast<std::size_t>(rank - 2)] == rank - 1 && perm[static_cast<std::size_t>(rank - 1)] == rank - 2;
}

}  // namespace

void layout(Graph& graph) {
  for (Node& node : graph.nodes) {
    if (node.op->name() != "MatMul" || graph.spec(node.inputs[0]).shape.rank() < 2 ||
        graph.spec(node.inputs[1]).shape.rank() < 2) {
      continue;
    }
    for (int side = 0; side < 2; ++side) {
      const char* flag = side == 0 ? "transpose_a" : "transpose_b";
      Value& input = node.inputs[static_cast<std::size_t>(side)];
      const Node& source = graph.nodes[static_cast<std::size_t>(input.node)];
      if (!swaps_last_two(graph, source)) continue;
      input = source.inputs[0];
      node.attributes.set(flag, AttributeValue(!node.attributes.get<bool>(flag, false)));
    }
  }
  remove_dead_nodes(graph);
}

}  // namespace cohort::passes
