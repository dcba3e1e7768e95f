#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/layers/preprocessing/random_affine.h"

namespace cohort::layers {

// In training, moves each image down and right by random parts of its height and width; negative ones move it up and
// left.
class RandomTranslationLayer : public RandomAffineLayer {
 public:
  RandomTranslationLayer() : RandomTranslationLayer(0.0, 0.0) {}
  RandomTranslationLayer(Factor height_factor, Factor width_factor, RandomAffineOptions options = {});
  std::string class_name() const override { return "RandomTranslation"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;

 protected:
  Maps draw_maps(const Tensor& images, double height, double width) override;

 private:
  Factor height_factor_, width_factor_;
};

struct RandomTranslation : LayerHandle<RandomTranslationLayer> {
  RandomTranslation(Factor height_factor, Factor width_factor, RandomAffineOptions options = {})
      : LayerHandle<RandomTranslationLayer>(std::make_shared<RandomTranslationLayer>(
            std::move(height_factor), std::move(width_factor), std::move(options))) {}
};

}  // namespace cohort::layers
