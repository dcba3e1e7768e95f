#include "cohort/layers/regularization/alpha_dropout.h"

#include <cmath>

#include "cohort/ops/math.h"
#include "cohort/ops/random_ops.h"

namespace cohort::layers {

AlphaDropoutLayer::AlphaDropoutLayer(double rate, AlphaDropoutOptions options)
    : SeededLayer(options.seed), rate_(rate), noise_shape_(options.noise_shape) {
  supports_masking_ = true;
  take_options(options);
  AlphaDropoutLayer::fields_changed();
}

void AlphaDropoutLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("rate", rate_);
  visit_seed(visitor);
  visitor.field("noise_shape", noise_shape_);
}

void AlphaDropoutLayer::fields_changed() {
  check_rate(*this, "rate", rate_);
  choose_seed();
}

Tensor AlphaDropoutLayer::call(const Tensor& input, const CallContext& context) {
  if (!context.training || rate_ == 0.0) return input;
  // SELU's alpha and scale.
  constexpr double kFloor = -1.6732632423543772 * 1.0507009873554805;
  const Tensor noise = noise_shape_ ? noise_shape_of(*this, input, *noise_shape_) : input;
  const Tensor kept = ops::cast(ops::random_uniform_like(noise, 0.0, 1.0, next_seed()) >= rate_, input.dtype());
  const double a = 1.0 / std::sqrt((1.0 - rate_) * (1.0 + rate_ * kFloor * kFloor));
  return (input * kept + kFloor * (1.0 - kept)) * a - a * kFloor * rate_;
}

COHORT_REGISTER(Layer, AlphaDropoutLayer, "AlphaDropout");

AlphaDropout::AlphaDropout(double rate, AlphaDropoutOptions options)
    : LayerHandle<AlphaDropoutLayer>(std::make_shared<AlphaDropoutLayer>(rate, std::move(options))) {}

}  // namespace cohort::layers
