#include "cohort/layers/preprocessing/resizing.h"

#include "cohort/layers/preprocessing/image_sizes.h"
#include "cohort/ops/image.h"
#include "cohort/ops/math.h"
#include "cohort/ops/slicing.h"

namespace cohort::layers {
namespace {

// Rounded, and held within what an integer type can say.
Tensor to_type(const Tensor& x, DType dtype) {
  if (!is_integer(dtype)) return ops::cast(x, dtype);
  const Tensor rounded = ops::round(x);
  if (dtype == DType::UInt8) return ops::cast(ops::clip(rounded, 0.0, 255.0), dtype);
  if (dtype == DType::Int8) return ops::cast(ops::clip(rounded, -128.0, 127.0), dtype);
  return ops::cast(rounded, dtype);
}

}  // namespace

ResizingLayer::ResizingLayer(std::int64_t height, std::int64_t width, ResizingOptions options)
    : ImageLayer(options.data_format), height_(height), width_(width), options_(std::move(options)) {
  take_options(options_);
  ResizingLayer::fields_changed();
}

void ResizingLayer::visit_fields(FieldVisitor& visitor) {
  ImageLayer::visit_fields(visitor);
  visitor.field("height", height_);
  visitor.field("width", width_);
  visit_options(options_, visitor);
}

void ResizingLayer::fields_changed() {
  ImageLayer::fields_changed();
  check_new_size(*this, height_, width_);
  ops::check_interpolation(class_name(), options_.interpolation);
  if (options_.fill_mode != "constant") {
    throw invalid_argument(class_name(), "fill_mode must be 'constant'", {{"fill_mode", options_.fill_mode}});
  }
  if (options_.crop_to_aspect_ratio && options_.pad_to_aspect_ratio) {
    throw invalid_argument(class_name(), "only one of crop_to_aspect_ratio and pad_to_aspect_ratio can be true");
  }
}

Tensor ResizingLayer::crop_or_pad(const Tensor& images) const {
  if (!options_.crop_to_aspect_ratio && !options_.pad_to_aspect_ratio) return images;
  check_size_known(images);
  const std::int64_t height = images.shape()[1], width = images.shape()[2];
  if (options_.crop_to_aspect_ratio) return crop_to_ratio(images, height_, width_);
  const std::int64_t above = (std::max(height, scaled(width, height_, width_)) - height) / 2;
  const std::int64_t left = (std::max(width, scaled(height, width_, height_)) - width) / 2;
  return ops::pad(images, {{0, 0}, {above, above}, {left, left}, {0, 0}}, "constant", options_.fill_value);
}

Tensor ResizingLayer::transform(const Tensor& images, bool) {
  const Tensor resized =
      ops::resize(ops::to_floating(crop_or_pad(images)), height_, width_, {options_.interpolation, options_.antialias});
  return to_type(resized, images.dtype());
}

COHORT_REGISTER(Layer, ResizingLayer, "Resizing");

Resizing::Resizing(std::int64_t height, std::int64_t width, ResizingOptions options)
    : LayerHandle<ResizingLayer>(std::make_shared<ResizingLayer>(height, width, std::move(options))) {}

}  // namespace cohort::layers
