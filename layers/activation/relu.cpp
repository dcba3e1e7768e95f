#include "cohort/layers/activation/relu.h"

#include "cohort/model/activations.h"
#include "cohort/model/layer/layer_activation.h"

namespace cohort::layers {

ReLULayer::ReLULayer(ReLUOptions options) : options_(std::move(options)) {
  supports_masking_ = true;
  take_options(options_);
  ReLULayer::fields_changed();
}

void ReLULayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visit_options(options_, visitor);
}

void ReLULayer::fields_changed() {
  if (options_.max_value && *options_.max_value < 0.0) {
    throw invalid_argument(class_name(), "max_value must not be negative", {{"max_value", *options_.max_value}});
  }
  if (options_.negative_slope < 0.0) {
    throw invalid_argument(class_name(), "negative_slope must not be negative",
                           {{"negative_slope", options_.negative_slope}});
  }
  if (options_.threshold < 0.0) {
    throw invalid_argument(class_name(), "threshold must not be negative", {{"threshold", options_.threshold}});
  }
}

Tensor ReLULayer::call(const Tensor& input, const CallContext&) {
  return activations::relu(input, options_.negative_slope, options_.max_value, options_.threshold);
}

COHORT_REGISTER(Layer, ReLULayer, "ReLU");
[[maybe_unused]] static const bool relu_as_activation = register_layer_as_activation("ReLU");

ReLU::ReLU(ReLUOptions options) : LayerHandle<ReLULayer>(std::make_shared<ReLULayer>(std::move(options))) {}

}  // namespace cohort::layers
