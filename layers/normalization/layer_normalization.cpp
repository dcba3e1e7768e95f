#include "cohort/layers/normalization/layer_normalization.h"

#include "cohort/layers/normalization/normalized_axes.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/math.h"
#include "cohort/ops/normalization.h"

namespace cohort::layers {

LayerNormalizationLayer::LayerNormalizationLayer(LayerNormalizationOptions options) : options_(std::move(options)) {
  supports_masking_ = true;
  take_options(options_);
}

void LayerNormalizationLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("axis", options_.axis.values);
  visit_options(options_, visitor);
}

void LayerNormalizationLayer::build(const Shape& input) {
  const Shape sizes = sizes_of(normalized_axes(*this, options_.axis.values, input), input);
  if (options_.scale || options_.rms_scaling) {
    gamma_ = add_weight("gamma", sizes,
                        {.initializer = options_.gamma_initializer,
                         .dtype = dtype(),
                         .regularizer = options_.gamma_regularizer,
                         .constraint = options_.gamma_constraint,
                         .autocast = false});
  }
  if (options_.center && !options_.rms_scaling) {
    beta_ = add_weight("beta", sizes,
                       {.initializer = options_.beta_initializer,
                        .dtype = dtype(),
                        .regularizer = options_.beta_regularizer,
                        .constraint = options_.beta_constraint,
                        .autocast = false});
  }
}

Tensor LayerNormalizationLayer::call(const Tensor& input, const CallContext&) {
  const DType result = compute_dtype();
  const Tensor x = ops::cast(input, promote(input.dtype(), DType::Float32));
  const std::vector<std::int64_t> axes = normalized_axes(*this, options_.axis.values, x.shape());
  const Shape sizes = sizes_of(axes, x.shape());
  const Tensor gamma = gamma_.defined() ? ops::cast(gamma_, x.dtype()) : Tensor();
  const Tensor beta = beta_.defined() ? ops::cast(beta_, x.dtype()) : Tensor();
  if (!options_.rms_scaling && are_last(axes, x.rank()) && sizes.fully_known()) {
    return ops::cast(ops::layer_norm(x, gamma.defined() ? gamma : ops::ones(sizes, x.dtype()),
                                     beta.defined() ? beta : ops::zeros(sizes, x.dtype()), options_.epsilon),
                     result);
  }
  const Tensor centered = x - ops::mean(x, axes, ops::keep_dims);
  const Tensor r = ops::rsqrt(ops::mean(ops::square(centered), axes, ops::keep_dims) + options_.epsilon);
  Tensor y = (options_.rms_scaling ? x : centered) * r;
  if (gamma.defined()) y = y * spread_over(gamma, axes, x.rank());
  if (beta.defined()) y = y + spread_over(beta, axes, x.rank());
  return ops::cast(y, result);
}

COHORT_REGISTER(Layer, LayerNormalizationLayer, "LayerNormalization");

LayerNormalization::LayerNormalization(LayerNormalizationOptions options)
    : LayerHandle<LayerNormalizationLayer>(std::make_shared<LayerNormalizationLayer>(std::move(options))) {}

}  // namespace cohort::layers
