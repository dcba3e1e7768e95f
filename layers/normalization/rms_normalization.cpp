#include "cohort/layers/normalization/rms_normalization.h"

#include "cohort/layers/normalization/normalized_axes.h"
#include "cohort/ops/math.h"

namespace cohort::layers {

RMSNormalizationLayer::RMSNormalizationLayer(RMSNormalizationOptions options) : options_(std::move(options)) {
  take_options(options_);
}

void RMSNormalizationLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("axis", options_.axis.values);
  visit_options(options_, visitor);
}

void RMSNormalizationLayer::build(const Shape& input) {
  scale_ = add_weight("scale", sizes_of(normalized_axes(*this, options_.axis.values, input), input),
                      {.initializer = "ones", .dtype = dtype()});
}

namespace {

// Whether numpy's rules lay the scale along the last axes of x. Keras leaves it to them, whatever axes are normalized.
bool lines_up(const Shape& scale, const Shape& x) {
  for (int i = 1; i <= scale.rank(); ++i) {
    if (scale[scale.rank() - i] != 1 && scale[scale.rank() - i] != x[x.rank() - i]) return false;
  }
  return true;
}

}  // namespace

Tensor RMSNormalizationLayer::call(const Tensor& input, const CallContext&) {
  const DType result = compute_dtype();
  const Tensor x = ops::cast(input, promote(input.dtype(), DType::Float32));
  const std::vector<std::int64_t> axes = normalized_axes(*this, options_.axis.values, x.shape());
  const Tensor r = ops::rsqrt(ops::mean(ops::square(x), axes, ops::keep_dims) + options_.epsilon);
  const Tensor scale = ops::cast(scale_, x.dtype());
  return ops::cast(x * r * (lines_up(scale.shape(), x.shape()) ? scale : spread_over(scale, axes, x.rank())), result);
}

COHORT_REGISTER(Layer, RMSNormalizationLayer, "RMSNormalization");

RMSNormalization::RMSNormalization(RMSNormalizationOptions options)
    : LayerHandle<RMSNormalizationLayer>(std::make_shared<RMSNormalizationLayer>(std::move(options))) {}

}  // namespace cohort::layers
