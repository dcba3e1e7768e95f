#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/layers/preprocessing/random_affine.h"

namespace cohort::layers {

// In training, turns each image about its middle by a random part of a whole turn.
class RandomRotationLayer : public RandomAffineLayer {
 public:
  RandomRotationLayer() : RandomRotationLayer(0.0) {}
  explicit RandomRotationLayer(Factor factor, RandomAffineOptions options = {});
  std::string class_name() const override { return "RandomRotation"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;

 protected:
  Maps draw_maps(const Tensor& images, double height, double width) override;

 private:
  Factor factor_;
};

struct RandomRotation : LayerHandle<RandomRotationLayer> {
  explicit RandomRotation(Factor factor, RandomAffineOptions options = {})
      : LayerHandle<RandomRotationLayer>(std::make_shared<RandomRotationLayer>(std::move(factor), std::move(options))) {
  }
};

}  // namespace cohort::layers
