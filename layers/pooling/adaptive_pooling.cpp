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
  visitor.field("output_size", output_size_);
  visit_options(options_, visitor);
}

void AdaptivePoolingLayer::fields_changed() {
  output_size_.standardize(class_name(), "output_size", axes_);
  check_data_format(*this, options_.data_format);
}

Tensor AdaptivePoolingLayer::call(const Tensor& input, const CallContext&) {
  check_spatial_rank(*this, input.shape(), axes_, options_.data_format);
  return maximum_ ? ops::adaptive_max_pool(input, output_size_.sizes, options_.data_format)
                  : ops::adaptive_average_pool(input, output_size_.sizes, options_.data_format);
}

COHORT_REGISTER(Layer, AdaptiveAveragePooling1DLayer, "AdaptiveAveragePooling1D");
COHORT_REGISTER(Layer, AdaptiveAveragePooling2DLayer, "AdaptiveAveragePooling2D");
COHORT_REGISTER(Layer, AdaptiveAveragePooling3DLayer, "AdaptiveAveragePooling3D");
COHORT_REGISTER(Layer, AdaptiveMaxPooling1DLayer, "AdaptiveMaxPooling1D");
COHORT_REGISTER(Layer, AdaptiveMaxPooling2DLayer, "AdaptiveMaxPooling2D");
COHORT_REGISTER(Layer, AdaptiveMaxPooling3DLayer, "AdaptiveMaxPooling3D");

AdaptiveAveragePooling1D::AdaptiveAveragePooling1D(Window output_size, AdaptivePoolingOptions options)
    : LayerHandle<AdaptiveAveragePooling1DLayer>(
          std::make_shared<AdaptiveAveragePooling1DLayer>(std::move(output_size), std::move(options))) {}
AdaptiveAveragePooling2D::AdaptiveAveragePooling2D(Window output_size, AdaptivePoolingOptions options)
    : LayerHandle<AdaptiveAveragePooling2DLayer>(
          std::make_shared<AdaptiveAveragePooling2DLayer>(std::move(output_size), std::move(options))) {}
AdaptiveAveragePooling3D::AdaptiveAveragePooling3D(Window output_size, AdaptivePoolingOptions options)
    : LayerHandle<AdaptiveAveragePooling3DLayer>(
          std::make_shared<AdaptiveAveragePooling3DLayer>(std::move(output_size), std::move(options))) {}
AdaptiveMaxPooling1D::AdaptiveMaxPooling1D(Window output_size, AdaptivePoolingOptions options)
    : LayerHandle<AdaptiveMaxPooling1DLayer>(
          std::make_shared<AdaptiveMaxPooling1DLayer>(std::move(output_size), std::move(options))) {}
AdaptiveMaxPooling2D::AdaptiveMaxPooling2D(Window output_size, AdaptivePoolingOptions options)
    : LayerHandle<AdaptiveMaxPooling2DLayer>(
          std::make_shared<AdaptiveMaxPooling2DLayer>(std::move(output_size), std::move(options))) {}
AdaptiveMaxPooling3D::AdaptiveMaxPooling3D(Window output_size, AdaptivePoolingOptions options)
    : LayerHandle<AdaptiveMaxPooling3DLayer>(
          std::make_shared<AdaptiveMaxPooling3DLayer>(std::move(output_size), std::move(options))) {}

}  // namespace cohort::layers
