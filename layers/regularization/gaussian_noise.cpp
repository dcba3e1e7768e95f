#include "cohort/layers/regularization/gaussian_noise.h"

#include <cmath>

#include "cohort/ops/math.h"
#include "cohort/ops/random_ops.h"

namespace cohort::layers {

GaussianNoiseLayer::GaussianNoiseLayer(double stddev, GaussianOptions options)
    : SeededLayer(options.seed), stddev_(stddev) {
  supports_masking_ = true;
  take_options(options);
  GaussianNoiseLayer::fields_changed();
}

void GaussianNoiseLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("stddev", stddev_);
  visit_seed(visitor);
}

void GaussianNoiseLayer::fields_changed() {
  check_rate(*this, "stddev", stddev_);
  choose_seed();
}

Tensor GaussianNoiseLayer::call(const Tensor& input, const CallContext& context) {
  if (!context.training || stddev_ == 0.0) return input;
  return input + ops::random_normal_like(input, 0.0, stddev_, next_seed());
}

GaussianDropoutLayer::GaussianDropoutLayer(double rate, GaussianOptions options)
    : SeededLayer(options.seed), rate_(rate) {
  supports_masking_ = true;
  take_options(options);
  GaussianDropoutLayer::fields_changed();
}

void GaussianDropoutLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("rate", rate_);
  visit_seed(visitor);
}

void GaussianDropoutLayer::fields_changed() {
  check_rate(*this, "rate", rate_);
  choose_seed();
}

Tensor GaussianDropoutLayer::call(const Tensor& input, const CallContext& context) {
  if (!context.training || rate_ == 0.0) return input;
  if (rate_ == 1.0) {
    throw invalid_argument(title(), "rate must be below 1 in training: the deviation grows without bound",
                           {{"rate", rate_}});
  }
  return input * ops::random_normal_like(input, 1.0, std::sqrt(rate_ / (1.0 - rate_)), next_seed());
}

COHORT_REGISTER(Layer, GaussianDropoutLayer, "GaussianDropout");
COHORT_REGISTER(Layer, GaussianNoiseLayer, "GaussianNoise");

GaussianNoise::GaussianNoise(double stddev, GaussianOptions options)
    : LayerHandle<GaussianNoiseLayer>(std::make_shared<GaussianNoiseLayer>(stddev, std::move(options))) {}
GaussianDropout::GaussianDropout(double rate, GaussianOptions options)
    : LayerHandle<GaussianDropoutLayer>(std::make_shared<GaussianDropoutLayer>(rate, std::move(options))) {}

}  // namespace cohort::layers
