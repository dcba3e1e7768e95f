#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cohort/core/mixed_types.h"
#include "cohort/graph/passes/pass.h"
#include "cohort/graph/passes/rewrite.h"

namespace cohort::passes {
namespace {

// Elements that are masked from which reading them once less is worth a note of each.
constexpr std::int64_t kLeastMasked = std::int64_t{1} << 18;

class MaskKeeping {
 public:
  explicit MaskKeeping(Graph& graph) : graph_(graph), users_(graph.users()), keep_(graph.nodes.size(), true) {}

  void run() {
    for (int i = 0; i < static_cast<int>(graph_.nodes.size()); ++i) {
      if (node(i).op->name() == "ReluGrad") take_in(i);
    }
    compact(graph_, keep_);
  }

 private:
  Node& node(int i) { return graph_.nodes[static_cast<std::size_t>(i)]; }

  // A single product of matrices of one half type, in that type, as both ops want it.
  bool can_have_mask(const Node& product) const {
    constexpr std::int64_t kColumns = 128;
    const TensorSpec &a = graph_.spec(product.inputs[0]), &b = graph_.spec(product.inputs[1]), &c = product.outputs[0];
    const bool all_half = std::all_of(product.inputs.begin(), product.inputs.end(),
                                      [&](const Value& input) { return graph_.spec(input).dtype == c.dtype; });
    return is_half(c.dtype) && all_half && b.shape.rank() == 2 &&
           (a.shape.rank() == 2 || !product.attributes.get<bool>("transpose_a", false)) &&
           c.shape.back() % kColumns == 0 && c.shape.num_elements() >= kLeastMasked;
  }
  static std::string activation_of(const Node& product) {
    return product.attributes.get<std::string>("activation", std::string());
  }
  static bool ends_in_relu(const Node& product) {
    const std::string& op = product.op->name();
    return op == "MaskedMatMul" || (op == "FusedMatMul" && activation_of(product) == "Relu");
  }
  static bool is_plain_product(const Node& product) {
    const std::string& op = product.op->name();
    return op == "MatMul" || (op == "FusedMatMul" && product.inputs.size() == 2 && activation_of(product).empty());
  }

  void take_in(int gradient) {
    const Value flow = node(gradient).inputs[0], came_out = node(gradient).inputs[1];
    Node &back = node(flow.node), &forth = node(came_out.node);
    if (flow.output != 0 || came_out.output != 0) return;
    if (!is_plain_product(back) || !can_have_mask(back) || only_user(graph_, users_, flow.node) != gradient) return;
    if (!ends_in_relu(forth) || !can_have_mask(forth) || forth.outputs[0] != back.outputs[0]) return;
    // What follows element by element takes the gradient in.
    const int reader = only_user(graph_, users_, gradient);
    if (reader >= 0 && node(reader).op->is_elementwise()) return;

    if (forth.op->name() == "FusedMatMul") {
      Shape mask = forth.outputs[0].shape;
      mask[mask.rank() - 1] /= 8;
      forth.op = &find_op("MaskedMatMul");
      forth.attributes = transposes_of(forth);
      forth.outputs.push_back({DType::UInt8, mask});
    }
    Node made = back;
    made.op = &find_op("MatMulReluGrad");
    made.attributes = transposes_of(back);
    made.inputs.push_back({came_out.node, 1});
    keep_[static_cast<std::size_t>(flow.node)] = false;
    node(gradient) = std::move(made);
  }

  static Attributes transposes_of(const Node& product) {
    return {{"transpose_a", product.attributes.get<bool>("transpose_a", false)},
            {"transpose_b", product.attributes.get<bool>("transpose_b", false)}};
  }

  Graph& graph_;
  const std::vector<std::vector<std::pair<int, int>>> users_;
  std::vector<bool> keep_;
};

}  // namespace

void keep_relu_masks(Graph& graph) { MaskKeeping(graph).run(); }

}  // namespace cohort::passes
