#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "cohort/core/mixed_types.h"
#include "cohort/graph/passes/pass.h"
#include "cohort/graph/passes/rewrite.h"

namespace cohort::passes {
namespace {

// Writes a graph anew, node by node, with others in place of batch norms.
class NormSplitting {
 public:
  explicit NormSplitting(const Graph& graph) : graph_(graph), users_(graph.users()) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      at_ = static_cast<int>(i);
      parts_ = 0;
      const Node& node = graph.nodes[i];
      if (node.op->name() == "BatchNorm" && can_be_split(node.inputs[0])) {
        moved_.push_back(split(node));
      } else if (node.op->name() == "BatchNormGrad" && can_be_split(node.inputs[1])) {
        moved_.push_back(split_gradient(node));
      } else {
        moved_.push_back(copy(node));
      }
    }
    for (int input : graph.inputs) result_.inputs.push_back(here({input, 0}).node);
    for (const Value& output : graph.outputs) result_.outputs.push_back(here(output));
  }

  Graph take() { return std::move(result_); }

 private:
  // What a channel's elements are multiplied by and what is added to them: one number for each channel.
  struct Affine {
    Value scale, shift;
  };
  // A relu that stands behind a batch norm and what flows back to it, whose mask follows from the norm's input.
  struct Relu {
    Value flow;
    Affine affine;
  };

  const Node& node(int i) const { return graph_.nodes[static_cast<std::size_t>(i)]; }
  const Node& maker(const Value& value) const { return node(value.node); }
  // Where a value of the old graph is in the new one.
  Value here(const Value& value) const {
    return moved_[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)];
  }

  bool can_be_split(const Value& x) const {
    const TensorSpec& spec = graph_.spec(x);
    return !is_half(spec.dtype) && spec.shape.num_elements() > 0;
  }

  std::vector<Value> copy(const Node& old) {
    Node node = old;
    for (Value& input : node.inputs) input = here(input);
    result_.nodes.push_back(std::move(node));
    return outputs_of({static_cast<int>(result_.nodes.size()) - 1, 0});
  }
  std::vector<Value> outputs_of(const Value& first) const {
    std::vector<Value> values;
    const std::size_t count = result_.nodes[static_cast<std::size_t>(first.node)].outputs.size();
    for (std::size_t i = 0; i < count; ++i) values.push_back({first.node, static_cast<int>(i)});
    return values;
  }

  // A node in place of the present one.
  Value add(std::string_view op, std::vector<Value> inputs, Attributes attributes = {}) {
    const Node& old = node(at_);
    const Value value = result_.add(find_op(op), std::move(inputs), std::move(attributes),
                                    old.name + "/" + std::to_string(parts_++) + "_" + std::string(op));
    Node& made = result_.nodes.back();
    made.location = old.location;
    made.device = old.device;
    return value;
  }
  Value cast(const Value& value, DType dtype) {
    return result_.spec(value).dtype == dtype ? value : add("Cast", {value}, {{"dtype", dtype}});
  }
  // A vector in a shape that broadcasts over tensors of this one with the channels at `axis`.
  Value along(const Value& vector, const Shape& shape) {
    const int axis = normalize_axis(node(at_).attributes.get<int>("axis"), shape.rank(), "split_batch_norms");
    if (axis == shape.rank() - 1) return vector;
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(shape.rank()), 1);
    sizes[static_cast<std::size_t>(axis)] = shape[axis];
    return add("Reshape", {vector}, {{"shape", sizes}});
  }
  Value scaled(const Value& x, const Value& vector) {
    return add("Multiply", {x, along(vector, result_.spec(x).shape)});
  }
  Value shifted(const Value& x, const Value& vector) { return add("Add", {x, along(vector, result_.spec(x).shape)}); }

  // What a value was before it was cast to a wider type, or itself.
  Value before_widening(const Value& value) const {
    const Node& made = maker(value);
    if (made.op->name() != "Cast") return value;
    const DType from = graph_.spec(made.inputs[0]).dtype, to = graph_.spec(value).dtype;
    return from != to && widens_to(from, to) ? made.inputs[0] : value;
  }
  // What a value was before it was cast to a half type, or itself.
  Value before_rounding(const Value& value) const {
    const Node& made = maker(value);
    if (made.op->name() != "Cast") return value;
    const DType from = graph_.spec(made.inputs[0]).dtype, to = graph_.spec(value).dtype;
    return from != to && rounds_to(from, to) ? made.inputs[0] : value;
  }

  Attributes attributes_of_factors(DType computed) const {
    const Attributes& own = node(at_).attributes;
    return {{"axis", own.get<int>("axis")},
            {"epsilon", own.get<double>("epsilon")},
            {kComputeType, AttributeValue(computed)}};
  }

  // (x, gamma, beta) -> (y, mean, variance)
  std::vector<Value> split(const Node& norm) {
    const Value x = norm.inputs[0];
    const Value factors =
        add("BatchNormFactors", {here(before_widening(x)), here(norm.inputs[1]), here(norm.inputs[2])},
            attributes_of_factors(graph_.spec(x).dtype));
    const Affine affine{{factors.node, 2}, {factors.node, 3}};
    affine_[at_] = affine;
    return {shifted(scaled(here(x), affine.scale), affine.shift), {factors.node, 0}, {factors.node, 1}};
  }

  // (dy, x, gamma, mean, variance) -> (dx, dgamma, dbeta)
  std::vector<Value> split_gradient(const Node& gradient) {
    const Value x = gradient.inputs[1], stored = before_widening(x);
    const DType computed = graph_.spec(x).dtype;
    Value dy = gradient.inputs[0], flow = before_widening(dy);
    std::vector<Value> inputs;
    const std::optional<Relu> relu = relu_before(gradient);
    if (relu) {
      inputs = {here(relu->flow), here(stored)};
    } else if (graph_.spec(flow) == graph_.spec(stored)) {
      inputs = {here(flow), here(stored)};
    } else {
      inputs = {here(dy), here(x)};
    }
    for (std::size_t i = 2; i < gradient.inputs.size(); ++i) inputs.push_back(here(gradient.inputs[i]));
    if (relu) inputs.insert(inputs.end(), {relu->affine.scale, relu->affine.shift});
    const Value factors = add("BatchNormGradFactors", std::move(inputs), attributes_of_factors(computed));

    const Value let_through = relu ? cast(masked(*relu, x, graph_.spec(stored).dtype), computed) : here(dy);
    const Value of_flow = scaled(let_through, {factors.node, 0}), of_input = scaled(here(x), {factors.node, 1});
    return {shifted(add("Add", {of_flow, of_input}), {factors.node, 2}), {factors.node, 3}, {factors.node, 4}};
  }

  // What the relu lets through, from the norm's input: what came of that need not be read once more.
  Value masked(const Relu& relu, const Value& x, DType stored) {
    const Value y = cast(shifted(scaled(here(x), relu.affine.scale), relu.affine.shift), stored);
    return add("ReluGrad", {here(relu.flow), y});
  }

  // The relu right behind the norm whose gradient this is, where nobody else wants what it lets through.
  std::optional<Relu> relu_before(const Node& gradient) const {
    const Value dy = gradient.inputs[0], mean = gradient.inputs[3], flow = before_widening(dy);
    const Value stored = before_widening(gradient.inputs[1]);
    const auto affine = affine_.find(mean.node);
    const Node &norm = maker(mean), &mask = maker(flow);
    if (affine == affine_.end() || norm.inputs[0] != gradient.inputs[1] || mask.op->name() != "ReluGrad") return {};
    const bool only_reader = has_one_reader(dy) && (flow == dy || has_one_reader(flow));
    if (!only_reader || graph_.spec(flow) != graph_.spec(stored)) return {};
    const Node& relu = maker(mask.inputs[1]);
    if (relu.op->name() != "Relu" || before_rounding(relu.inputs[0]) != Value{mean.node, 0}) return {};
    return Relu{mask.inputs[0], affine->second};
  }
  bool has_one_reader(const Value& value) const {
    return users_[static_cast<std::size_t>(value.node)].size() == 1 &&
           std::find(graph_.outputs.begin(), graph_.outputs.end(), value) == graph_.outputs.end();
  }

  const Graph& graph_;
  std::vector<std::vector<std::pair<int, int>>> users_;
  Graph result_;
  std::vector<std::vector<Value>> moved_;  // by node of the old graph: its outputs in the new one
  std::map<int, Affine> affine_;           // by batch norm of the old graph, in the new one
  int at_ = 0, parts_ = 0;
};

}  // namespace

void split_batch_norms(Graph& graph) {
  const bool any = std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return node.op->name() == "BatchNorm" || node.op->name() == "BatchNormGrad";
  });
  if (!any) return;
  graph = NormSplitting(graph).take();
  remove_dead_nodes(graph);
}

}  // namespace cohort::passes
