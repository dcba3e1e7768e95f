#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/layers/preprocessing/image_layer.h"

namespace cohort::layers {

struct RandomCropOptions {
  std::optional<std::int64_t> seed = std::nullopt;
  std::string data_format = {};
  DTypePolicy dtype = {};
  std::string name = {};
};

class RandomCropLayer : public ImageLayer {
 public:
  RandomCropLayer() : RandomCropLayer(1, 1) {}
  RandomCropLayer(std::int64_t height, std::int64_t width, RandomCropOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;

 protected:
  Tensor transform(const Tensor& images, bool training) override;

 private:
  std::int64_t height_, width_;
};

// In training, cuts a window out of the images at a random place, the same for a whole batch; otherwise images pass
// unchanged. Where an image is not larger in both directions, its middle is taken and, if need be, enlarged.
// Input (batch, any height, any width, channels) or one image without the batch, output in training (batch, height,
// width, channels).
//   height: height of the window in pixels.
//   width: width of the window in pixels.
struct RandomCrop : LayerHandle<RandomCropLayer> {
  RandomCrop(std::int64_t height, std::int64_t width, RandomCropOptions options = {});
};

}  // namespace cohort::layers
