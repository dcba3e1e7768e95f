#include "cohort/layers/pooling/adaptive_pooling.h"

#include "cohort/layers/spatial_axes.h"
#include "cohort/ops/pooling.h"

namespace cohort::layers {

AdaptivePoolingLayer::AdaptivePoolingLayer(int axes, bool maximum, Window output_size, AdaptivePoolingOptions options)
    : axes_(axes), maximum_(maximum), output_size_(std::move(output_size)), options_(std::move(options)) {
  take_options(options_);
}

void AdaptivePoolingLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("output_size", output_size_.sizes);
  visitor.field("data_format", options_.data_format);
}

void AdaptivePoolingLayer::fields_changed() {
  output_size_.standardize(class_name(), "output_size", axes_);
  check_data_format(*this, options_.data_format);
}

Tensor AdaptivePoolingLayer::call(const Tensor& input, const CallContext&) {
  check_spatial_rank(*this, input.shape(), axes_, options_.data_format);
  const Tensor image = to_channels_last(input, options_.data_format);
  const Tensor pooled = maximum_ ? ops::adaptive_max_pool(image, output_size_.sizes)
                                 : ops::adaptive_average_pool(image, output_size_.sizes);
  return from_channels_last(pooled, options_.data_format);
}

namespace {

[[maybe_unused]] const bool adaptive_pooling_registered[] = {
    Layer::registry().add("AdaptiveAveragePooling1D", [] { return std::make_shared<AdaptiveAveragePooling1DLayer>(); }),
    Layer::registry().add("AdaptiveAveragePooling2D", [] { return std::make_shared<AdaptiveAveragePooling2DLayer>(); }),
    Layer::registry().add("AdaptiveAveragePooling3D", [] { return std::make_shared<AdaptiveAveragePooling3DLayer>(); }),
    Layer::registry().add("AdaptiveMaxPooling1D", [] { return std::make_shared<AdaptiveMaxPooling1DLayer>(); }),
    Layer::registry().add("AdaptiveMaxPooling2D", [] { return std::make_shared<AdaptiveMaxPooling2DLayer>(); }),
    Layer::registry().add("AdaptiveMaxPooling3D", [] { return std::make_shared<AdaptiveMaxPooling3DLayer>(); }),
};

}  // namespace
}  // namespace cohort::layers
