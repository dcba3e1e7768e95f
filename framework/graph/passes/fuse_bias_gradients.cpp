#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cohort/core/mixed_types.h"
#include "cohort/graph/passes/pass.h"
#include "cohort/graph/passes/rewrite.h"

namespace cohort::passes {
namespace {

// Finds products, or gradients of convolutions' kernels, and sums that read the same matrix, and makes one node of each
// pair.
class BiasGradientFusion {
 public:
  explicit BiasGradientFusion(Graph& graph)
      : graph_(graph), dependencies_(dependencies(graph)), users_(graph.users()), merged_(graph.nodes.size(), false) {}

  void run() {
    bool any = false;
    for (int sums = 0; sums < static_cast<int>(graph_.nodes.size()); ++sums) {
      if (node(sums).op->name() != "SumToLike" || !is_floating(graph_.spec(node(sums).inputs[0]).dtype)) continue;
      const int product = product_for(sums);
      if (product < 0) continue;
      merge(product, sums);
      any = true;
    }
    if (!any) return;
    reorder(graph_, dependencies_);
    remove_dead_nodes(graph_);
  }

 private:
  Node& node(int i) { return graph_.nodes[static_cast<std::size_t>(i)]; }
  const Node& node(int i) const { return graph_.nodes[static_cast<std::size_t>(i)]; }

  // The value whose elements a value has, in whatever shape.
  Value elements_of(Value value) const {
    while (node(value.node).op->is_alias() && graph_.spec(value).dtype == graph_.spec(node(value.node).inputs[0]).dtype)
      value = node(value.node).inputs[0];
    return value;
  }

  // Of the products that read the elements which are added up, the first that can make the sums; -1 when none can.
  int product_for(int sums) const {
    std::vector<Value> shapes = {elements_of(node(sums).inputs[0])};
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      for (const auto& [user, position] : users_[static_cast<std::size_t>(shapes[i].node)]) {
        if (node(user).inputs[static_cast<std::size_t>(position)] != shapes[i]) continue;
        if (position == 0 && node(user).op->is_alias()) shapes.push_back({user, 0});
        if (position == 1 && can_make(user, sums) && !needs(user, sums)) return user;
      }
    }
    return -1;
  }

  // Whether a node whose second input has the elements can make the sums, too.
  bool can_make(int i, int sums) const {
    if (merged_[static_cast<std::size_t>(i)]) return false;
    if (node(i).op->name() != kConvolution) return is_weight_gradient(node(i)) && has_columns(i, sums);
    const TensorSpec& dy = graph_.spec(node(i).inputs[1]);
    return has_columns(i, sums) && node(sums).outputs[0] == TensorSpec{dy.dtype, {dy.shape.back()}};
  }

  // The product of a matrix, transposed, and another.
  bool is_weight_gradient(const Node& product) const {
    const std::string& op = product.op->name();
    if ((op != "MatMul" && op != "FusedMatMul") || product.inputs.size() != 2) return false;
    const TensorSpec &a = graph_.spec(product.inputs[0]), &b = graph_.spec(product.inputs[1]);
    return a.shape.rank() == 2 && b.shape.rank() == 2 && a.dtype == b.dtype && is_floating(a.dtype) &&
           product.attributes.get<bool>("transpose_a", false) && !product.attributes.get<bool>("transpose_b", false) &&
           product.attributes.get<std::string>("activation", std::string()).empty() &&
           product.attributes.get<DType>(kComputeType, a.dtype) == a.dtype;
  }

  // Whether what is left by the sums are the columns of the product's second matrix.
  bool has_columns(int product, int sums) const {
    const Shape &from = graph_.spec(node(sums).inputs[0]).shape, &to = node(sums).outputs[0].shape;
    const std::int64_t columns = graph_.spec(node(product).inputs[1]).shape.back();
    std::int64_t kept = 1;
    for (int axis = 1; axis <= to.rank(); ++axis) {
      if (kept < columns && to.dim(-axis) != from.dim(-axis)) return false;
      kept *= to.dim(-axis);
    }
    return kept == columns;
  }

  // Whether the first must come after the second.
  bool needs(int later, int earlier) const {
    std::vector<int> open = {later};
    std::vector<bool> seen(graph_.nodes.size(), false);
    while (!open.empty()) {
      const int at = open.back();
      open.pop_back();
      if (at == earlier) return true;
      for (const int before : dependencies_[static_cast<std::size_t>(at)]) {
        if (!seen[static_cast<std::size_t>(before)]) open.push_back(before);
        seen[static_cast<std::size_t>(before)] = true;
      }
    }
    return false;
  }

  // The product's node makes the sums, too; the sums' own is left without users.
  void merge(int product, int sums) {
    Node& made = node(product);
    const TensorSpec& added = node(sums).outputs[0];
    if (made.op->name() == kConvolution) {
      made.op = &find_op("ConvBiasGrad");
    } else {
      Attributes attributes = {
          {"transpose_a", true}, {"sums_dtype", AttributeValue(added.dtype)}, {"sums_shape", added.shape}};
      if (made.attributes.has(kResultType)) attributes.set(kResultType, AttributeValue(made.outputs[0].dtype));
      made.op = &find_op("MatMulBiasGrad");
      made.attributes = std::move(attributes);
    }
    made.outputs.push_back(added);
    merged_[static_cast<std::size_t>(product)] = true;
    replace_uses(graph_, {sums, 0}, {product, 1});
    for (std::vector<int>& before : dependencies_) std::replace(before.begin(), before.end(), sums, product);
  }

  static constexpr const char* kConvolution = "ConvGradKernel";
  Graph& graph_;
  std::vector<std::vector<int>> dependencies_;
  const std::vector<std::vector<std::pair<int, int>>> users_;
  std::vector<bool> merged_;  // by node: products that make sums already
};

}  // namespace

void fuse_bias_gradients(Graph& graph) { BiasGradientFusion(graph).run(); }

}  // namespace cohort::passes
