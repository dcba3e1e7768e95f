#include "cohort/layers/preprocessing/rescaling.h"

#include "cohort/ops/math.h"

namespace cohort::layers {

RescalingLayer::RescalingLayer(double scale, RescalingOptions options) : scale_(scale), options_(std::move(options)) {
  supports_masking_ = true;
  take_options(options_);
}

void RescalingLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("scale", scale_);
  visitor.field("offset", options_.offset);
}

Tensor RescalingLayer::call(const Tensor& input, const CallContext&) {
  const Tensor scaled = ops::cast(input, compute_dtype()) * scale_;
  return options_.offset == 0.0 ? scaled : scaled + options_.offset;
}

namespace {

[[maybe_unused]] const bool registered =
    Layer::registry().add("Rescaling", [] { return std::make_shared<RescalingLayer>(); });

}  // namespace
}  // namespace cohort::layers
