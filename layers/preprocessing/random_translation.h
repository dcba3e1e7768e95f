#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/layers/preprocessing/random_affine.h"

namespace cohort::layers {

class RandomTranslationLayer : public RandomAffineLayer {
 public:
  RandomTranslationLayer() : RandomTranslationLayer(0.0, 0.0) {}
  RandomTranslationLayer(Factor height_factor, Factor width_factor, RandomAffineOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;

 protected:
  Maps draw_maps(const Tensor& images, double height, double width) override;

 private:
  Factor height_factor_, width_factor_;
};

// In training, moves each image by a random distance.
// Input images (batch, height, width, channels) or one without the batch, output of the same shape.
//   height_factor: range of the move as a fraction of the height, within [-1, 1], positive down: f means {-f, f}, two
//     numbers are its ends.
//   width_factor: range of the move as a fraction of the width, likewise, positive to the right.
struct RandomTranslation : LayerHandle<RandomTranslationLayer> {
  RandomTranslation(Factor height_factor, Factor width_factor, RandomAffineOptions options = {});
};

}  // namespace cohort::layers
