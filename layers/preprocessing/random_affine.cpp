#include "cohort/layers/preprocessing/random_affine.h"

#include "cohort/ops/creation.h"
#include "cohort/ops/image.h"
#include "cohort/ops/joining.h"

namespace cohort::layers {

RandomAffineLayer::RandomAffineLayer(RandomAffineOptions options)
    : ImageLayer(options.data_format, options.seed), options_(std::move(options)) {
  take_options(options_);
}

void RandomAffineLayer::visit_fields(FieldVisitor& visitor) {
  ImageLayer::visit_fields(visitor);
  visitor.field("fill_mode", options_.fill_mode);
  visitor.field("interpolation", options_.interpolation);
  visit_seed(visitor);
  visitor.field("fill_value", options_.fill_value);
}

void RandomAffineLayer::fields_changed() {
  ImageLayer::fields_changed();
  check_affine_options(*this, options_.fill_mode, options_.interpolation);
}

Tensor RandomAffineLayer::transform(const Tensor& images, bool training) {
  if (!training) return images;
  check_size_known(images);
  const Maps maps = draw_maps(images, static_cast<double>(images.shape()[1]), static_cast<double>(images.shape()[2]));
  const Tensor zero = ops::zeros_like(maps.a0);
  const Tensor rows = ops::concatenate({maps.a0, maps.a1, maps.a2, maps.b0, maps.b1, maps.b2, zero, zero}, 1);
  return ops::affine_transform(images, rows, {options_.interpolation, options_.fill_mode, options_.fill_value});
}

}  // namespace cohort::layers
