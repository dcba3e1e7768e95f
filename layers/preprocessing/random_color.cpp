#include "cohort/layers/preprocessing/random_color.h"

#include <algorithm>

#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::layers {

RandomColorLayer::RandomColorLayer(Factor factor, RandomColorOptions options)
    : ImageLayer(options.data_format, options.seed), factor_(std::move(factor)), options_(std::move(options)) {
  take_options(options_);
}

void RandomColorLayer::visit_fields(FieldVisitor& visitor) {
  ImageLayer::visit_fields(visitor);
  visitor.field("factor", factor_);
  visit_options(options_, visitor);
  visit_seed(visitor);
}

void RandomColorLayer::check_range() {
  if (options_.value_range.size() != 2) {
    throw invalid_argument(class_name(), "value_range must have two ends",
                           {{"len(value_range)", options_.value_range.size()}});
  }
  std::sort(options_.value_range.begin(), options_.value_range.end());
}

Tensor RandomColorLayer::transform(const Tensor& images, bool training) {
  return training ? ops::clip(change(images), options_.value_range[0], options_.value_range[1]) : images;
}

RandomBrightnessLayer::RandomBrightnessLayer(Factor factor, RandomColorOptions options)
    : RandomColorLayer(std::move(factor), std::move(options)) {
  RandomBrightnessLayer::fields_changed();
}

// Keras keeps both ends.
void RandomBrightnessLayer::fields_changed() {
  ImageLayer::fields_changed();
  check_range();
  const Factor::Ends ends = factor_.ends(*this, "factor", -1.0);
  factor_ = {ends.low, ends.high};
}

Tensor RandomBrightnessLayer::change(const Tensor& images) {
  const Tensor delta =
      draw_wide(images, factor_.values[0], factor_.values[1]) * (options_.value_range[1] - options_.value_range[0]);
  return images + ops::cast(delta, images.dtype());
}

RandomContrastLayer::RandomContrastLayer(Factor factor, RandomColorOptions options)
    : RandomColorLayer(std::move(factor), std::move(options)) {
  RandomContrastLayer::fields_changed();
}

void RandomContrastLayer::fields_changed() {
  ImageLayer::fields_changed();
  check_range();
  const Factor::Ends ends = factor_.ends(*this, "factor", 0.0);
  factor_ = {std::max(ends.low, 0.0), ends.high};
}

Tensor RandomContrastLayer::change(const Tensor& images) {
  const Tensor mean = ops::mean(images, {1, 2}, ops::keep_dims);
  const Tensor strength = draw_wide(images, 1.0 - factor_.values[0], 1.0 + factor_.values[1]);
  return (images - mean) * ops::cast(strength, images.dtype()) + mean;
}

COHORT_REGISTER(Layer, RandomBrightnessLayer, "RandomBrightness");
COHORT_REGISTER(Layer, RandomContrastLayer, "RandomContrast");

RandomBrightness::RandomBrightness(Factor factor, RandomColorOptions options)
    : LayerHandle<RandomBrightnessLayer>(
          std::make_shared<RandomBrightnessLayer>(std::move(factor), std::move(options))) {}

}  // namespace cohort::layers
