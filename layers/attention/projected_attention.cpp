#include "cohort/layers/attention/projected_attention.h"

#include <cmath>

#include "cohort/graph/trace.h"
#include "cohort/layers/attention/attention_masks.h"
#include "cohort/ops/array.h"
#include "cohort/ops/attention.h"
#include "cohort/ops/math.h"
#include "cohort/ops/nn.h"
#include "cohort/ops/random_ops.h"
#include "cohort/ops/reduce.h"

namespace cohort::layers {
namespace {

// An argument by its name, or by its place where the inputs are a list.
template <class T>
const Tree<T>* argument(const Tree<T>& inputs, const char* name, std::size_t place) {
  if (inputs.is_leaf()) return place == 0 ? &inputs : nullptr;
  if (inputs.kind() == Tree<T>::Kind::Dict) return inputs.find(name);
  return place < inputs.size() ? &inputs[place] : nullptr;
}

template <class T>
T required(const Layer& layer, const Tree<T>& inputs, const char* name, std::size_t place) {
  if (const Tree<T>* found = argument(inputs, name, place); found && found->is_leaf()) return found->leaf();
  throw invalid_argument(layer.title(), "query and value must be given", {{"missing", name}},
                         "Call it as layer(query, value), with the same tensor twice for self-attention.");
}

Tensor optional(const Element& inputs, const char* name, std::size_t place) {
  const Element* found = argument(inputs, name, place);
  return found && found->is_leaf() ? found->leaf() : Tensor();
}

Tensor as_bool(const Tensor& mask) {
  return mask.defined() && mask.dtype() != DType::Bool ? ops::cast(mask, DType::Bool) : mask;
}
Tensor expanded(const Tensor& mask, int axis) { return mask.defined() ? ops::expand_dims(as_bool(mask), axis) : mask; }

constexpr std::size_t kKeyPlace = 2, kNoPlace = 99;

}  // namespace

void ProjectedAttentionLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visit_options(fields_, visitor);
  visit_seed(visitor);
}

void ProjectedAttentionLayer::fields_changed() {
  check_rate(*this, "dropout", fields_.dropout);
  if (fields_.sliding_window && *fields_.sliding_window <= 0) {
    throw invalid_argument(class_name(), "sliding_window must be positive",
                           {{"sliding_window", *fields_.sliding_window}}, "Leave it out to see all keys.");
  }
  if (fields_.flash_attention.value_or(false) && fields_.dropout > 0.0) {
    throw invalid_argument(class_name(), "flash attention has no dropout", {{"dropout", fields_.dropout}},
                           "Leave flash_attention or dropout out.");
  }
  choose_seed();
}

std::vector<std::string> ProjectedAttentionLayer::argument_names() const {
  return {"query", "value", "key", "query_mask", "value_mask", "key_mask", "attention_mask"};
}

void ProjectedAttentionLayer::build_element(const ShapeTree& inputs) {
  const Shape query = required(*this, inputs, "query", 0), value = required(*this, inputs, "value", 1);
  const ShapeTree* given_key = argument(inputs, "key", kKeyPlace);
  const Shape key = given_key ? given_key->leaf() : value;
  for (const Shape& shape : {query, value, key}) {
    if (shape.rank() >= 3 && shape.rank() == query.rank()) continue;
    throw invalid_argument(title(), "query, value and key must have 3 axes (batch, steps, features) or more",
                           {{"query.shape", query}, {"value.shape", value}, {"key.shape", key}});
  }
  if (value.slice(1, value.rank() - 1) != key.slice(1, key.rank() - 1)) {
    throw invalid_argument(title(), "value and key must have the same axes but for the last",
                           {{"value.shape", value}, {"key.shape", key}});
  }
  build_projections(query, value, key);
}

Ref<EinsumDenseLayer> ProjectedAttentionLayer::projection(const char* name, const char* attribute,
                                                          const std::string& equation, const Shape& input,
                                                          const std::vector<std::int64_t>& sizes,
                                                          const std::string& bias_axes, const char* activation) {
  Shape output;
  const auto output_axes = static_cast<int>(equation.size() - equation.find("->") - 2);
  while (output.rank() + static_cast<int>(sizes.size()) < output_axes - 1) output.push_back(kUnknown);
  for (std::int64_t size : sizes) output.push_back(size);
  const EinsumDenseOptions options{.activation = activation,
                                   .bias_axes = fields_.use_bias ? std::optional(bias_axes) : std::nullopt,
                                   .kernel_initializer = fields_.kernel_initializer,
                                   .bias_initializer = fields_.bias_initializer,
                                   .kernel_regularizer = fields_.kernel_regularizer,
                                   .bias_regularizer = fields_.bias_regularizer,
                                   .kernel_constraint = fields_.kernel_constraint,
                                   .bias_constraint = fields_.bias_constraint,
                                   .activity_regularizer = fields_.activity_regularizer,
                                   .dtype = dtype_policy(),
                                   .name = name};
  const Ref<EinsumDenseLayer> made = std::make_shared<EinsumDenseLayer>(equation, output, options);
  track(attribute, made);
  const NameScope scope(name);
  made->ensure_built({input});
  return made;
}

Element ProjectedAttentionLayer::call_element(const Element& inputs, const CallContext& context) {
  const Tensor query = required(*this, inputs, "query", 0), value = required(*this, inputs, "value", 1);
  const Tensor given_key = optional(inputs, "key", kKeyPlace), key = given_key.defined() ? given_key : value;
  // Masks that were passed by name count before those the tensors carry; a query's are only carried ones.
  const auto mask_for = [&](const char* name, const char* argument_name, std::size_t place) {
    const Tensor passed = optional(inputs, argument_name, kNoPlace);
    return passed.defined() ? passed : optional(context.mask, name, place);
  };
  Tensor mask =
      expanded(takes_query_mask() ? mask_for("query", "query_mask", 0) : optional(context.mask, "query", 0), -1);
  mask = both_masks(mask, expanded(mask_for("value", "value_mask", 1), -2));
  mask = both_masks(mask, expanded(mask_for("key", "key_mask", kKeyPlace), -2));
  mask = both_masks(as_bool(optional(inputs, "attention_mask", kNoPlace)), mask);

  const bool wants_scores = context.arguments.get<bool>("return_attention_scores", false);
  if (wants_scores && fields_.flash_attention.value_or(false)) {
    throw invalid_argument(title(), "flash attention has no scores to return", {{"return_attention_scores", true}},
                           "Leave flash_attention out.");
  }
  const Weighing weighing{mask, context.arguments.get<bool>("use_causal_mask", false), context.training};
  const Tensor gate = gate_dense_ ? (*gate_dense_)(query) : Tensor();
  const Projected projected{(*query_dense_)(query), (*key_dense_)(key), (*value_dense_)(value)};
  Tensor scores;
  Tensor output = !wants_scores && is_plain(projected) && fields_.dropout < 1.0
                      ? fused(projected, weighing)
                      : spelled_out(projected, weighing, scores);
  if (gate.defined()) output = output * gate;
  output = (*output_dense_)(output);
  return wants_scores ? Element::tuple({output, scores}) : Element(output);
}

Tensor ProjectedAttentionLayer::fused(const Projected& projected, const Weighing& weighing) {
  const bool drops = fields_.dropout > 0.0;
  return ops::dot_product_attention(
      projected.query, projected.key, projected.value,
      {.mask = weighing.mask.defined() ? with_rank(weighing.mask, 4, 2) : Tensor(),
       .scale = 1.0 / std::sqrt(static_cast<double>(query_size())),
       .is_causal = weighing.causal,
       .sliding_window = fields_.sliding_window.value_or(0),
       .dropout = drops && weighing.training ? fields_.dropout : 0.0,
       .seed = drops && weighing.training ? next_seed() : 0,
       // Where every key is hidden Keras's two ways differ; the one with dropout gives zeros.
       .zero_without_keys = drops});
}

Tensor ProjectedAttentionLayer::spelled_out(const Projected& projected, const Weighing& weighing, Tensor& scores) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(query_size()));
  const int axes = key_axes();
  Projected scaled = projected;
  scaled.query = projected.query * scale;
  scores = scores_of(scaled);
  const std::int64_t window = fields_.sliding_window.value_or(0);
  if (axes > 1 && (weighing.causal || window > 0)) {
    throw invalid_argument(title(), "use_causal_mask and sliding_window need one axis to attend to",
                           {{"attention_axes", axes}}, "Give an attention_mask instead.");
  }
  Tensor mask = both_masks(weighing.mask.defined() ? with_rank(weighing.mask, scores.rank(), 2 * axes) : Tensor(),
                           position_mask(scores, weighing.causal, window));
  if (mask.defined()) {
    broadcast_shapes(scores.shape(), mask.shape(), title().c_str());
    scores = ops::where(mask, scores, scores.dtype() == DType::Float16 ? -3e4 : -1e9);
  }
  std::vector<std::int64_t> last;
  for (int i = axes; i > 0; --i) last.push_back(-i);
  scores = axes == 1 ? ops::softmax(scores, -1) : ops::exp(scores - ops::logsumexp(scores, last, ops::keep_dims));
  if (mask.defined()) scores = ops::where(mask, scores, 0.0);
  const bool drops = fields_.dropout > 0.0 && weighing.training;
  return combine(drops ? ops::dropout(scores, fields_.dropout, next_seed()) : scores, projected);
}

Element ProjectedAttentionLayer::compute_mask(const Element&, const Element& mask) {
  return Element(optional(mask, "query", 0));
}

}  // namespace cohort::layers
