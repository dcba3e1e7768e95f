#include "cohort/layers/preprocessing/random_flip.h"

#include "cohort/core/text.h"
#include "cohort/ops/math.h"
#include "cohort/ops/slicing.h"

namespace cohort::layers {

RandomFlipLayer::RandomFlipLayer(std::string mode, RandomFlipOptions options)
    : ImageLayer(options.data_format, options.seed), mode_(std::move(mode)) {
  take_options(options);
  RandomFlipLayer::fields_changed();
}

void RandomFlipLayer::visit_fields(FieldVisitor& visitor) {
  ImageLayer::visit_fields(visitor);
  visit_seed(visitor);
  visitor.field("mode", mode_);
}

void RandomFlipLayer::fields_changed() {
  ImageLayer::fields_changed();
  if (mode_ == "horizontal" || mode_ == "vertical" || mode_ == "horizontal_and_vertical") return;
  throw invalid_argument(class_name(), "mode must be 'horizontal', 'vertical' or 'horizontal_and_vertical'",
                         {{"mode", in_quotes(mode_)}});
}

Tensor RandomFlipLayer::transform(const Tensor& images, bool training) {
  if (!training) return images;
  const std::vector<std::int64_t> axes = mode_ == "horizontal" ? std::vector<std::int64_t>{2}
                                         : mode_ == "vertical" ? std::vector<std::int64_t>{1}
                                                               : std::vector<std::int64_t>{1, 2};
  return ops::where(draw_wide(images, 0.0, 1.0) <= 0.5, ops::flip(images, axes), images);
}

COHORT_REGISTER(Layer, RandomFlipLayer, "RandomFlip");

RandomFlip::RandomFlip(std::string mode, RandomFlipOptions options)
    : LayerHandle<RandomFlipLayer>(std::make_shared<RandomFlipLayer>(std::move(mode), std::move(options))) {}

}  // namespace cohort::layers
