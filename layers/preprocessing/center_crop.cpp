#include "cohort/layers/preprocessing/center_crop.h"

#include "cohort/layers/preprocessing/image_sizes.h"
#include "cohort/ops/broadcast.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/image.h"
#include "cohort/ops/indexing.h"
#include "cohort/ops/math.h"

namespace cohort::layers {

CenterCropLayer::CenterCropLayer(std::int64_t height, std::int64_t width, CenterCropOptions options)
    : ImageLayer(options.data_format), height_(height), width_(width) {
  take_options(options);
  CenterCropLayer::fields_changed();
}

void CenterCropLayer::visit_fields(FieldVisitor& visitor) {
  ImageLayer::visit_fields(visitor);
  visitor.field("height", height_);
  visitor.field("width", width_);
}

void CenterCropLayer::fields_changed() {
  ImageLayer::fields_changed();
  check_new_size(*this, height_, width_);
}

namespace {

// `count` elements in the middle of an axis whose size need not be known yet; it must not be smaller.
Tensor middle_of(const Tensor& images, std::int64_t count, int axis) {
  const Tensor start = ops::floor_divide(ops::size_of(images, {axis}, DType::Int32) - static_cast<double>(count), 2.0);
  return ops::take(images, ops::arange(count) + start, axis);
}

}  // namespace

Tensor CenterCropLayer::transform(const Tensor& images, bool) {
  const Shape& shape = images.shape();
  const auto fits = [](std::int64_t size, std::int64_t wanted) { return size == kUnknown || size >= wanted; };
  if ((shape[1] == kUnknown || shape[2] == kUnknown) && fits(shape[1], height_) && fits(shape[2], width_)) {
    return middle_of(middle_of(images, height_, 1), width_, 2);
  }
  check_size_known(images);
  const std::int64_t below = images.shape()[1] - height_, beside = images.shape()[2] - width_;
  if (below >= 0 && beside >= 0) return crop(images, below / 2, beside / 2, height_, width_);
  return ops::resize(crop_to_ratio(images, height_, width_), height_, width_);
}

COHORT_REGISTER(Layer, CenterCropLayer, "CenterCrop");

CenterCrop::CenterCrop(std::int64_t height, std::int64_t width, CenterCropOptions options)
    : LayerHandle<CenterCropLayer>(std::make_shared<CenterCropLayer>(height, width, std::move(options))) {}

}  // namespace cohort::layers
