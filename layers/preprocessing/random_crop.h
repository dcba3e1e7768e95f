#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/layers/preprocessing/image_layer.h"

namespace cohort::layers {

struct RandomCropOptions {
  std::optional<std::int64_t> seed = std::nullopt;
  std::string data_format = {};  // "channels_last" when left out, or "channels_first"
  DTypePolicy dtype = {};
  std::string name = {};
};

// In training a part of the images at a random place, the same for a whole batch: (batch, any height, any width,
// channels) to (batch, height, width, channels). Smaller images are cropped in the middle and enlarged. Outside of
// training images pass as they are.
class RandomCropLayer : public ImageLayer {
 public:
  RandomCropLayer() : RandomCropLayer(1, 1) {}
  RandomCropLayer(std::int64_t height, std::int64_t width, RandomCropOptions options = {});
  std::string class_name() const override { return "RandomCrop"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;

 protected:
  Tensor transform(const Tensor& images, bool training) override;

 private:
  std::int64_t height_, width_;
};

struct RandomCrop : LayerHandle<RandomCropLayer> {
  RandomCrop(std::int64_t height, std::int64_t width, RandomCropOptions options = {})
      : LayerHandle<RandomCropLayer>(std::make_shared<RandomCropLayer>(height, width, std::move(options))) {}
};

}  // namespace cohort::layers
