#include "cohort/layers/merging/custom_scale.h"

#include "cohort/ops/math.h"

namespace cohort::layers {

CustomScaleLayer::CustomScaleLayer(double scale, NameOption options) : scale_(scale) { take_options(options); }

void CustomScaleLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("scale", scale_);
}

Tensor CustomScaleLayer::call_many(const Tensors& inputs, const CallContext&) {
  if (inputs.size() != 2) {
    throw invalid_argument(title(), "a list of two inputs is expected", {{"inputs", inputs.size()}},
                           "Call it with {a, b}.");
  }
  return inputs[0] + inputs[1] * scale_;
}

COHORT_REGISTER(Layer, CustomScaleLayer, "CustomScaleLayer");

CustomScale::CustomScale(double scale, NameOption options)
    : LayerHandle<CustomScaleLayer>(std::make_shared<CustomScaleLayer>(scale, std::move(options))) {}

}  // namespace cohort::layers
