#include "cohort/layers/preprocessing/random_translation.h"

#include "cohort/ops/creation.h"
#include "cohort/ops/math.h"

namespace cohort::layers {

RandomTranslationLayer::RandomTranslationLayer(Factor height_factor, Factor width_factor, RandomAffineOptions options)
    : RandomAffineLayer(std::move(options)),
      height_factor_(std::move(height_factor)),
      width_factor_(std::move(width_factor)) {
  RandomTranslationLayer::fields_changed();
}

void RandomTranslationLayer::visit_fields(FieldVisitor& visitor) {
  RandomAffineLayer::visit_fields(visitor);
  visitor.field("height_factor", height_factor_);
  visitor.field("width_factor", width_factor_);
}

void RandomTranslationLayer::fields_changed() {
  RandomAffineLayer::fields_changed();
  height_factor_.ends(*this, "height_factor", -1.0);
  width_factor_.ends(*this, "width_factor", -1.0);
}

RandomAffineLayer::Maps RandomTranslationLayer::draw_maps(const Tensor& images, double height, double width) {
  const Factor::Ends down = height_factor_.ends(*this, "height_factor", -1.0);
  const Factor::Ends right = width_factor_.ends(*this, "width_factor", -1.0);
  const Tensor y = draw(images, down.low, down.high) * height, x = draw(images, right.low, right.high) * width;
  const Tensor zero = ops::zeros_like(x), one = ops::ones_like(x);
  return {one, zero, -x, zero, one, -y};
}

COHORT_REGISTER(Layer, RandomTranslationLayer, "RandomTranslation");

RandomTranslation::RandomTranslation(Factor height_factor, Factor width_factor, RandomAffineOptions options)
    : LayerHandle<RandomTranslationLayer>(std::make_shared<RandomTranslationLayer>(
          std::move(height_factor), std::move(width_factor), std::move(options))) {}

}  // namespace cohort::layers
