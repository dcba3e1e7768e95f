#include "cohort/layers/attention/attention.h"

#include "cohort/core/text.h"
#include "cohort/layers/attention/attention_masks.h"
#include "cohort/ops/array.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/nn.h"
#include "cohort/ops/random_ops.h"
#include "cohort/ops/reduce.h"

namespace cohort::layers {
namespace {

Tensor mask_at(const Element& masks, std::size_t i) {
  if (masks.is_leaf() || i >= masks.size() || !masks[i].is_leaf()) return {};
  const Tensor& mask = masks[i].leaf();
  return mask.defined() && mask.dtype() != DType::Bool ? ops::cast(mask, DType::Bool) : mask;
}

}  // namespace

AttentionLayer::AttentionLayer(AttentionOptions options) : SeededLayer(options.seed), options_(std::move(options)) {
  take_options(options_);
  AttentionLayer::fields_changed();
}

void AttentionLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visit_options(options_, visitor);
  visit_seed(visitor);
}

void AttentionLayer::fields_changed() {
  if (options_.score_mode != "dot" && options_.score_mode != "concat") {
    throw invalid_argument(class_name(), "score_mode must be 'dot' or 'concat'",
                           {{"score_mode", in_quotes(options_.score_mode)}});
  }
  check_rate(*this, "dropout", options_.dropout);
  choose_seed();
}

void AttentionLayer::check_inputs(const std::vector<Shape>& inputs) const {
  if (inputs.size() < 2 || inputs.size() > 3) {
    throw invalid_argument(title(), "2 or 3 inputs are expected: [query, value] or [query, value, key]",
                           {{"inputs", inputs.size()}});
  }
  const Shape &query = inputs[0], &value = inputs[1], &key = inputs.back();
  const auto differ = [](std::int64_t a, std::int64_t b) { return a != b && a != kUnknown && b != kUnknown; };
  if (query.rank() < 2 || value.rank() != query.rank() || key.rank() != query.rank() ||
      differ(query.back(), key.back()) || differ(value.dim(-2), key.dim(-2))) {
    throw invalid_argument(title(), "query and key must agree in their last axis, value and key in the one before it",
                           {{"query.shape", query}, {"value.shape", value}, {"key.shape", key}});
  }
}

void AttentionLayer::build_many(const std::vector<Shape>& inputs) {
  check_inputs(inputs);
  make_weights(inputs[0]);
}

void AttentionLayer::make_weights(const Shape&) {
  if (options_.use_scale) scale_ = add_weight("scale", {}, {.initializer = "ones"});
  if (options_.score_mode == "concat") {
    concat_score_weight_ = add_weight("concat_score_weight", {}, {.initializer = "ones"});
  }
}

Tensor AttentionLayer::pairs(const Tensor& query, const Tensor& key) {
  return ops::expand_dims(query, -2) + ops::expand_dims(key, -3);
}

Tensor AttentionLayer::scores(const Tensor& query, const Tensor& key) const {
  if (options_.score_mode == "dot") {
    const Tensor products = ops::matmul(query, key, false, true);
    return scale_.defined() ? products * scale_ : products;
  }
  const Tensor sums = pairs(query, key);
  return ops::sum(ops::tanh(scale_.defined() ? sums * scale_ : sums), -1) * concat_score_weight_;
}

Element AttentionLayer::call_element(const Element& inputs, const CallContext& context) {
  const Tensors tensors = inputs.flatten();
  std::vector<Shape> shapes;
  for (const Tensor& tensor : tensors) shapes.push_back(tensor.shape());
  check_inputs(shapes);
  const Tensor &query = tensors[0], &value = tensors[1];
  Tensor weights = scores(query, tensors.back());
  const Tensor query_mask = mask_at(context.mask, 0), value_mask = mask_at(context.mask, 1);
  const bool causal = context.arguments.get<bool>("use_causal_mask", false);
  const Tensor mask =
      both_masks(value_mask.defined() ? ops::expand_dims(value_mask, -2) : Tensor(), position_mask(weights, causal, 0));
  if (mask.defined()) {
    weights = ops::where(mask, weights, weights - (weights.dtype() == DType::Float16 ? 65504.0 : 1e9));
  }
  weights = ops::softmax(weights, -1);
  if (context.training && options_.dropout > 0.0) {
    weights = ops::dropout(weights, options_.dropout, next_seed());
  }
  Tensor output = ops::matmul(weights, value);
  if (query_mask.defined()) output = ops::where(ops::expand_dims(query_mask, -1), output, 0.0);
  const bool wants_scores = context.arguments.get<bool>("return_attention_scores", false);
  return wants_scores ? Element::tuple({output, weights}) : Element(output);
}

Element AttentionLayer::compute_mask(const Element&, const Element& mask) { return Element(mask_at(mask, 0)); }

COHORT_REGISTER(Layer, AttentionLayer, "Attention");

Attention::Attention(AttentionOptions options)
    : LayerHandle<AttentionLayer>(std::make_shared<AttentionLayer>(std::move(options))) {}

}  // namespace cohort::layers
