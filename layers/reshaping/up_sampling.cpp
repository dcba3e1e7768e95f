#include "cohort/layers/reshaping/up_sampling.h"

#include "cohort/layers/spatial_axes.h"
#include "cohort/ops/channels.h"
#include "cohort/ops/image.h"
#include "cohort/ops/joining.h"

namespace cohort::layers {
namespace {

// Every element repeated along the spatial axes.
Tensor repeat_each(Tensor x, const std::vector<std::int64_t>& sizes, const std::string& data_format) {
  const std::vector<std::int64_t> positions = spatial_positions(static_cast<int>(sizes.size()), data_format);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > 1) x = ops::repeat(x, static_cast<int>(sizes[i]), static_cast<int>(positions[i]));
  }
  return x;
}

}  // namespace

UpSampling1DLayer::UpSampling1DLayer(std::int64_t size, NameOption options) : size_(size) {
  take_options(options);
  UpSampling1DLayer::fields_changed();
}

void UpSampling1DLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("size", size_);
}

void UpSampling1DLayer::fields_changed() {
  if (size_ <= 0) throw invalid_argument(class_name(), "size must be positive", {{"size", size_}});
}

Tensor UpSampling1DLayer::call(const Tensor& input, const CallContext&) {
  check_spatial_rank(*this, input.shape(), 1, "channels_last");
  return repeat_each(input, {size_}, "channels_last");
}

UpSampling2DLayer::UpSampling2DLayer(Window size, UpSampling2DOptions options)
    : size_(std::move(size)), options_(std::move(options)) {
  take_options(options_);
  UpSampling2DLayer::fields_changed();
}

void UpSampling2DLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("size", size_);
  visit_options(options_, visitor);
}

void UpSampling2DLayer::fields_changed() {
  size_.standardize(class_name(), "size", 2);
  check_data_format(*this, options_.data_format);
  ops::check_interpolation(class_name(), options_.interpolation);
}

Tensor UpSampling2DLayer::call(const Tensor& input, const CallContext&) {
  check_spatial_rank(*this, input.shape(), 2, options_.data_format);
  if (options_.interpolation == "nearest") return repeat_each(input, size_.sizes, options_.data_format);
  return ops::with_channels_last(class_name(), input, options_.data_format, [&](const Tensor& images) {
    const Shape& shape = images.shape();
    if (shape[1] == kUnknown || shape[2] == kUnknown) {
      throw invalid_argument(title(), "height and width must be known unless interpolation is 'nearest'",
                             {{"input.shape", input.shape()}});
    }
    return ops::resize(images, shape[1] * size_.sizes[0], shape[2] * size_.sizes[1],
                       {.interpolation = options_.interpolation});
  });
}

UpSampling3DLayer::UpSampling3DLayer(Window size, UpSampling3DOptions options)
    : size_(std::move(size)), options_(std::move(options)) {
  take_options(options_);
  UpSampling3DLayer::fields_changed();
}

void UpSampling3DLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("size", size_);
  visit_options(options_, visitor);
}

void UpSampling3DLayer::fields_changed() {
  size_.standardize(class_name(), "size", 3);
  check_data_format(*this, options_.data_format);
}

Tensor UpSampling3DLayer::call(const Tensor& input, const CallContext&) {
  check_spatial_rank(*this, input.shape(), 3, options_.data_format);
  return repeat_each(input, size_.sizes, options_.data_format);
}

COHORT_REGISTER(Layer, UpSampling1DLayer, "UpSampling1D");
COHORT_REGISTER(Layer, UpSampling2DLayer, "UpSampling2D");
COHORT_REGISTER(Layer, UpSampling3DLayer, "UpSampling3D");

UpSampling1D::UpSampling1D(std::int64_t size, NameOption options)
    : LayerHandle<UpSampling1DLayer>(std::make_shared<UpSampling1DLayer>(size, std::move(options))) {}
UpSampling2D::UpSampling2D(Window size, UpSampling2DOptions options)
    : LayerHandle<UpSampling2DLayer>(std::make_shared<UpSampling2DLayer>(std::move(size), std::move(options))) {}
UpSampling3D::UpSampling3D(Window size, UpSampling3DOptions options)
    : LayerHandle<UpSampling3DLayer>(std::make_shared<UpSampling3DLayer>(std::move(size), std::move(options))) {}

}  // namespace cohort::layers
