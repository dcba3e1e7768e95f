#include "cohort/layers/attention/additive_attention.h"

#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::layers {

AdditiveAttentionLayer::AdditiveAttentionLayer(AdditiveAttentionOptions options)
    : AttentionLayer({.seed = options.seed}) {
  options_.use_scale = options.use_scale;
  options_.dropout = options.dropout;
  take_options(options);
  fields_changed();
}

void AdditiveAttentionLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("use_scale", options_.use_scale);
  visitor.field("dropout", options_.dropout);
  visit_seed(visitor);
}

void AdditiveAttentionLayer::make_weights(const Shape& query) {
  if (options_.use_scale) scale_ = add_weight("scale", {query.back()}, {.initializer = "glorot_uniform"});
}

Tensor AdditiveAttentionLayer::scores(const Tensor& query, const Tensor& key) const {
  const Tensor shared = ops::tanh(pairs(query, key));
  return ops::sum(scale_.defined() ? shared * scale_ : shared, -1);
}

COHORT_REGISTER(Layer, AdditiveAttentionLayer, "AdditiveAttention");

AdditiveAttention::AdditiveAttention(AdditiveAttentionOptions options)
    : LayerHandle<AdditiveAttentionLayer>(std::make_shared<AdditiveAttentionLayer>(std::move(options))) {}

}  // namespace cohort::layers
