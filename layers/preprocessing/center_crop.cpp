#include "cohort/layers/preprocessing/center_crop.h"

#include "cohort/layers/preprocessing/image_sizes.h"
#include "cohort/ops/image.h"

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

Tensor CenterCropLayer::transform(const Tensor& images, bool) {
  check_size_known(images);
  const std::int64_t below = images.shape()[1] - height_, beside = images.shape()[2] - width_;
  if (below >= 0 && beside >= 0) return crop(images, below / 2, beside / 2, height_, width_);
  return ops::resize(crop_to_ratio(images, height_, width_), height_, width_);
}

namespace {

[[maybe_unused]] const bool center_crop_registered =
    Layer::registry().add("CenterCrop", [] { return std::make_shared<CenterCropLayer>(); });

}  // namespace
}  // namespace cohort::layers
