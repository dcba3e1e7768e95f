#include <algorithm>
#include <cmath>

#include "cohort/core/dispatch.h"
#include "cohort/core/kernel.h"
#include "cohort/graph/passes/pass.h"
#include "cohort/graph/passes/rewrite.h"
#include "cohort/graph/trace.h"

namespace cohort::passes {
namespace {

// Constants beyond this are cheaper to compute than to keep.
constexpr std::int64_t kLargestFolded = 1 << 16;

// Shapes are concrete here: of these inputs only the shape matters, so they count as constants.
bool only_shape_matters(const Node& node, std::size_t input) {
  static const std::vector<std::string> every = {"SizeOf", "ShapeOf", "ZerosLike", "OnesLike", "FullLike"};
  static const std::vector<std::string> second = {"BroadcastLike", "SumToLike", "ReshapeLike"};
  const auto among = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), node.op->name()) != names.end();
  };
  return among(every) || (input == 1 && among(second));
}

bool known_when_compiled(const Graph& graph, const Node& node) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!is_constant(graph.nodes[static_cast<std::size_t>(node.inputs[i].node)]) && !only_shape_matters(node, i))
      return false;
  }
  return true;
}

// The value this node merely repeats, if it does nothing.
const Value* repeated_input(const Graph& graph, const Node& node) {
  const std::string& op = node.op->name();
  if (node.inputs.empty() || node.outputs.size() != 1) return nullptr;
  const TensorSpec& in = graph.spec(node.inputs[0]);
  const bool same = in == node.outputs[0];
  if (op == "Identity" || op == "StopGradient") return &node.inputs[0];
  if (same && (op == "SumToLike" || op == "BroadcastLike" || op == "Cast" || op == "Reshape" || op == "ReshapeLike" ||
               op == "BroadcastTo" || op == "Sum" || op == "Mean" || op == "Max" || op == "Min")) {
    return &node.inputs[0];
  }
  return nullptr;
}

Tensor constant_of(const Graph& graph, Value value) {
  return graph.nodes[static_cast<std::size_t>(value.node)].attributes.get<Tensor>("value");
}

// x * 1, x / 1, x + 0, x - 0 with a scalar constant.
const Value* neutral_operation(const Graph& graph, const Node& node) {
  const std::string& op = node.op->name();
  const bool product = op == "Multiply" || op == "Divide", sum = op == "Add" || op == "Subtract";
  if ((!product && !sum) || node.inputs.size() != 2) return nullptr;
  for (int side : {1, 0}) {
    if (side == 0 && (op == "Divide" || op == "Subtract")) break;
    const Value& constant = node.inputs[static_cast<std::size_t>(side)];
    const Value& other = node.inputs[static_cast<std::size_t>(1 - side)];
    if (!is_constant(graph.nodes[static_cast<std::size_t>(constant.node)])) continue;
    if (graph.spec(constant).shape.num_elements() != 1 || graph.spec(other) != node.outputs[0]) continue;
    const double value = constant_of(graph, constant).to_vector<double>()[0];
    // x + 0 turns -0 into +0, so a sum is neutral only for -0.
    if (product ? value == 1.0 : value == 0.0 && std::signbit(value) == (op == "Add")) return &other;
  }
  return nullptr;
}

// The part that a slice cuts out of a concatenation, when it is exactly one of those that were joined: a sharded
// variable's gradient is put together only to be cut again.
const Value* joined_part(const Graph& graph, const Node& node) {
  if (node.op->name() != "Slice") return nullptr;
  const Node& source = graph.nodes[static_cast<std::size_t>(node.inputs[0].node)];
  if (source.op->name() != "Concat") return nullptr;
  const int given_axis = source.attributes.get<int>("axis");
  const int axis = given_axis < 0 ? given_axis + source.outputs[0].shape.rank() : given_axis;
  const auto begin = node.attributes.get<std::vector<std::int64_t>>("begin")[static_cast<std::size_t>(axis)];
  std::int64_t at = 0;
  for (const Value& part : source.inputs) {
    if (begin == at && graph.spec(part) == node.outputs[0]) return &part;
    at += graph.spec(part).shape[axis];
  }
  return nullptr;
}

void make_constant(Node& node, const Tensor& value) {
  node.op = &find_op("Constant");
  node.inputs.clear();
  node.attributes = {{"value", value.to_host()}};
}

}  // namespace

void fold(Graph& graph) {
  EagerScope eager;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    Node& node = graph.nodes[i];
    if (is_input(node) || is_constant(node) || node.op->is_random() || node.op->is_stateful()) continue;
    const Value* same = repeated_input(graph, node);
    if (!same) same = neutral_operation(graph, node);
    if (!same) same = joined_part(graph, node);
    if (same) {
      replace_uses(graph, {static_cast<int>(i), 0}, *same);
      continue;
    }
    const bool small = std::all_of(node.outputs.begin(), node.outputs.end(), [](const TensorSpec& spec) {
      return spec.shape.fully_known() && spec.shape.num_elements() <= kLargestFolded && is_plain(spec.dtype);
    });
    if (node.outputs.size() != 1 || !small || node.op->reads_resources()) continue;
    if (!known_when_compiled(graph, node)) continue;
    if (!node.op->is_alias() && !has_kernel(node.op->name(), kCPU)) continue;
    Tensors inputs;
    for (const Value& input : node.inputs) {
      const Node& source = graph.nodes[static_cast<std::size_t>(input.node)];
      const TensorSpec& spec = graph.spec(input);
      // Only the shape of a non-constant input matters: any memory of that shape will do.
      inputs.push_back(is_constant(source) ? constant_of(graph, input) : Tensor::empty(spec.dtype, spec.shape, cpu()));
    }
    const Tensor value = run_eagerly(*node.op, inputs, node.attributes)[0];
    if (value.spec() == node.outputs[0]) make_constant(node, value);
  }
  remove_dead_nodes(graph);
}

}  // namespace cohort::passes
