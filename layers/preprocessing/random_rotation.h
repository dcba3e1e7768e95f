#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/layers/preprocessing/random_affine.h"

namespace cohort::layers {

class RandomRotationLayer : public RandomAffineLayer {
 public:
  RandomRotationLayer() : RandomRotationLayer(0.0) {}
  explicit RandomRotationLayer(Factor factor, RandomAffineOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;

 protected:
  Maps draw_maps(const Tensor& images, double height, double width) override;

 private:
  Factor factor_;
};

// In training, turns each image about its middle by a random angle.
// Input images (batch, height, width, channels) or one without the batch, output of the same shape.
//   factor: range of the angle in whole turns, within [-1, 1], positive counterclockwise: f means {-f, f}, two numbers
//     are its ends.
struct RandomRotation : LayerHandle<RandomRotationLayer> {
  explicit RandomRotation(Factor factor, RandomAffineOptions options = {})
      : LayerHandle<RandomRotationLayer>(std::make_shared<RandomRotationLayer>(std::move(factor), std::move(options))) {
  }
};

}  // namespace cohort::layers
