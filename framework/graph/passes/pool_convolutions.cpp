#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cohort/graph/passes/pass.h"
#include "cohort/graph/passes/rewrite.h"

namespace cohort::passes {
namespace {

using Sizes = std::vector<std::int64_t>;

// A pooling of what a convolution gives, and what flows back through both; of the latter -1 where there is none.
struct PooledConv {
  int conv, pool;
  int mask = -1, unpool = -1, gradients = -1;
};

class ConvPooling {
 public:
  explicit ConvPooling(Graph& graph) : graph_(graph), users_(graph.users()), keep_(graph.nodes.size(), true) {}

  void run() {
    for (int i = 0; i < static_cast<int>(graph_.nodes.size()); ++i) {
      PooledConv found{.conv = -1, .pool = i};
      if (find(found)) replace(found);
    }
    compact(graph_, keep_);
  }

 private:
  Node& node(int i) { return graph_.nodes[static_cast<std::size_t>(i)]; }
  const Node& node(int i) const { return graph_.nodes[static_cast<std::size_t>(i)]; }
  bool is(int i, const char* op) const { return i >= 0 && node(i).op->name() == op; }

  // Whether all that reads what the convolution gives is the pooling, and its gradient, which reads the shape alone.
  bool find(PooledConv& found) const {
    if (!is(found.pool, "MaxPool") || !pools_pairs(node(found.pool))) return false;
    const Shape& pooled = node(found.pool).outputs[0].shape;
    if (pooled.rank() != 4 || pooled[1] == 0 || pooled[2] == 0) return false;
    found.conv = node(found.pool).inputs[0].node;
    if (!is(found.conv, "FusedConv") || !has_few_elements(node(found.conv)) || leaves(found.conv)) return false;
    for (const auto& [user, position] : users_[static_cast<std::size_t>(found.conv)]) {
      if (user == found.pool) continue;
      if (found.unpool >= 0 || !is(user, "MaxPoolGrad") || position != 2) return false;
      found.unpool = user;
    }
    return found.unpool < 0 ? users_of_index(found.pool) == 0 : find_gradients(found);
  }

  // ConvBiasGrad(x, MaxPoolGrad(ReluGrad(dy, pooled), index, y), kernel), and nothing else that reads what is between.
  bool find_gradients(PooledConv& found) const {
    const Node& unpool = node(found.unpool);
    if (unpool.inputs[1] != Value{found.pool, 1} || !pools_pairs(unpool)) return false;
    found.mask = unpool.inputs[0].node;
    found.gradients = only_user(graph_, users_, found.unpool);
    if (!is(found.mask, "ReluGrad") || only_user(graph_, users_, found.mask) != found.unpool) return false;
    if (node(found.mask).inputs[1] != Value{found.pool, 0} || !is(found.gradients, "ConvBiasGrad")) return false;
    const Node &conv = node(found.conv), &gradients = node(found.gradients);
    return graph_.spec(node(found.mask).inputs[0]) == node(found.pool).outputs[0] && users_of_index(found.pool) == 1 &&
           gradients.inputs[0] == conv.inputs[0] && gradients.inputs[1] == Value{found.unpool, 0} &&
           graph_.spec(gradients.inputs[2]) == graph_.spec(conv.inputs[1]) &&
           gradients.attributes.get<std::string>("padding", "valid") ==
               conv.attributes.get<std::string>("padding", "valid");
  }

  bool leaves(int i) const {
    return std::any_of(graph_.outputs.begin(), graph_.outputs.end(), [&](const Value& each) { return each.node == i; });
  }
  int users_of_index(int pool) const {
    int count = 0;
    for (const auto& [user, position] : users_[static_cast<std::size_t>(pool)]) {
      count += node(user).inputs[static_cast<std::size_t>(position)].output == 1 ? 1 : 0;
    }
    for (const Value& output : graph_.outputs) count += output == Value{pool, 1} ? 1 : 0;
    return count;
  }

  static bool pools_pairs(const Node& pool) {
    const Sizes pairs = {2, 2};
    return pool.attributes.get<Sizes>("pool_size", {}) == pairs && pool.attributes.get<Sizes>("strides", {}) == pairs &&
           pool.attributes.get<std::string>("padding", "valid") == "valid" &&
           pool.attributes.get<Sizes>("output_size", {}).empty();
  }

  // Convolutions that end in a relu and whose windows have few elements, within the bounds of the ops that are made.
  bool has_few_elements(const Node& conv) const {
    constexpr std::int64_t kMostChannels = 4, kMostElements = 32, kMostFilters = 1 << 10, kMostPixels = 1 << 18;
    const TensorSpec& x = graph_.spec(conv.inputs[0]);
    const Shape& kernel = graph_.spec(conv.inputs[1]).shape;
    const Sizes ones = {1, 1};
    if (conv.attributes.get<std::string>("activation", std::string()) != "Relu" || x.dtype != DType::Float32 ||
        x.shape.rank() != 4 || x.shape.back() != kernel[2]) {
      return false;
    }
    const std::int64_t elements = kernel[0] * kernel[1] * kernel[2], pixels = x.shape[1] * x.shape[2];
    return kernel[2] <= kMostChannels && elements > 0 && elements <= kMostElements && kernel[3] <= kMostFilters &&
           pixels <= kMostPixels && conv.attributes.get<Sizes>("strides", ones) == ones &&
           conv.attributes.get<Sizes>("dilations", ones) == ones;
  }

  static Attributes attributes_of(const Node& conv) {
    return {{"strides", Sizes{1, 1}},
            {"dilations", Sizes{1, 1}},
            {"padding", conv.attributes.get<std::string>("padding", "valid")},
            {"groups", 1}};
  }

  void replace(const PooledConv& found) {
    Node& pool = node(found.pool);
    pool.op = &find_op("ConvReluMaxPool");
    pool.inputs = node(found.conv).inputs;
    pool.attributes = attributes_of(node(found.conv));
    keep_[static_cast<std::size_t>(found.conv)] = false;
    if (found.gradients < 0) return;
    Node& gradients = node(found.gradients);
    gradients.op = &find_op("ConvReluMaxPoolGrad");
    gradients.inputs = {gradients.inputs[0], node(found.mask).inputs[0], {found.pool, 1}, gradients.inputs[2]};
    gradients.attributes = attributes_of(node(found.conv));
    keep_[static_cast<std::size_t>(found.mask)] = false;
    keep_[static_cast<std::size_t>(found.unpool)] = false;
  }

  Graph& graph_;
  const std::vector<std::vector<std::pair<int, int>>> users_;
  std::vector<bool> keep_;
};

}  // namespace

void pool_convolutions(Graph& graph) { ConvPooling(graph).run(); }

}  // namespace cohort::passes
