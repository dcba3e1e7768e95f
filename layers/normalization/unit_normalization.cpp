#include "cohort/layers/normalization/unit_normalization.h"

#include "cohort/layers/normalization/normalized_axes.h"
#include "cohort/ops/math.h"

namespace cohort::layers {

UnitNormalizationLayer::UnitNormalizationLayer(UnitNormalizationOptions options) : options_(std::move(options)) {
  supports_masking_ = true;
  take_options(options_);
}

void UnitNormalizationLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("axis", options_.axis.values);
}

Tensor UnitNormalizationLayer::call(const Tensor& input, const CallContext&) {
  constexpr double kEpsilon = 1e-12;
  const Tensor x = ops::to_floating(input);
  const std::vector<std::int64_t> axes = normalized_axes(*this, options_.axis.values, x.shape());
  // The bound stands before the root, so that the slope at zero stays a number.
  return x * ops::rsqrt(ops::maximum(ops::sum(ops::square(x), axes, ops::keep_dims), kEpsilon * kEpsilon));
}

COHORT_REGISTER(Layer, UnitNormalizationLayer, "UnitNormalization");

UnitNormalization::UnitNormalization(UnitNormalizationOptions options)
    : LayerHandle<UnitNormalizationLayer>(std::make_shared<UnitNormalizationLayer>(std::move(options))) {}

}  // namespace cohort::layers
