#include "cohort/layers/regularization/dropout.h"

#include "cohort/ops/math.h"
#include "cohort/ops/random_ops.h"

namespace cohort::layers {

DropoutLayer::DropoutLayer(double rate, DropoutOptions options)
    : SeededLayer(options.seed), rate_(rate), noise_shape_(options.noise_shape) {
  supports_masking_ = true;
  take_options(options);
  DropoutLayer::fields_changed();
}

void DropoutLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("rate", rate_);
  visit_seed(visitor);
  visitor.field("noise_shape", noise_shape_);
}

void DropoutLayer::fields_changed() {
  check_rate(*this, "rate", rate_);
  choose_seed();
}

Tensor DropoutLayer::call(const Tensor& input, const CallContext& context) {
  if (!context.training || rate_ == 0.0) return input;
  if (!noise_shape_) return ops::dropout(input, rate_, next_seed());
  return input * ops::dropout(noise_shape_of(*this, input, *noise_shape_), rate_, next_seed());
}

COHORT_REGISTER(Layer, DropoutLayer, "Dropout");

Dropout::Dropout(double rate, DropoutOptions options)
    : LayerHandle<DropoutLayer>(std::make_shared<DropoutLayer>(rate, std::move(options))) {}

}  // namespace cohort::layers
