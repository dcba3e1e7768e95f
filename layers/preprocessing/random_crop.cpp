#include "cohort/layers/preprocessing/random_crop.h"

#include "cohort/layers/preprocessing/image_sizes.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/image.h"
#include "cohort/ops/indexing.h"
#include "cohort/ops/math.h"
#include "cohort/ops/random_ops.h"

namespace cohort::layers {

RandomCropLayer::RandomCropLayer(std::int64_t height, std::int64_t width, RandomCropOptions options)
    : ImageLayer(options.data_format, options.seed), height_(height), width_(width) {
  take_options(options);
  RandomCropLayer::fields_changed();
}

void RandomCropLayer::visit_fields(FieldVisitor& visitor) {
  ImageLayer::visit_fields(visitor);
  visitor.field("height", height_);
  visitor.field("width", width_);
  visit_seed(visitor);
}

void RandomCropLayer::fields_changed() {
  ImageLayer::fields_changed();
  check_new_size(*this, height_, width_);
}

Tensor RandomCropLayer::transform(const Tensor& images, bool training) {
  if (!training) return images;
  check_size_known(images);
  const std::int64_t height = images.shape()[1], width = images.shape()[2];
  if (height > height_ && width > width_) {
    // `count` of `size` elements along an axis, from a random one on.
    const auto part = [this](const Tensor& x, std::int64_t size, std::int64_t count, int axis) {
      const Tensor start =
          ops::random_uniform({}, 0.0, static_cast<double>(size - count + 1), DType::Int32, next_seed());
      return ops::take(x, ops::arange(count) + start, axis);
    };
    return part(part(images, height, height_, 1), width, width_, 2);
  }
  const std::int64_t rows = std::clamp<std::int64_t>(width * height_ / width_, 1, height);
  const std::int64_t cols = std::clamp<std::int64_t>(height * width_ / height_, 1, width);
  const std::int64_t top = (height - rows) / 2, left = (width - cols) / 2;
  const Tensor middle = crop(images, top, left, std::min(height_, height - top), std::min(width_, width - left));
  if (middle.shape()[1] == height_ && middle.shape()[2] == width_) return middle;
  return ops::resize(middle, height_, width_);
}

COHORT_REGISTER(Layer, RandomCropLayer, "RandomCrop");

RandomCrop::RandomCrop(std::int64_t height, std::int64_t width, RandomCropOptions options)
    : LayerHandle<RandomCropLayer>(std::make_shared<RandomCropLayer>(height, width, std::move(options))) {}

}  // namespace cohort::layers
