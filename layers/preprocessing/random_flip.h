#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/layers/preprocessing/image_layer.h"

namespace cohort::layers {

struct RandomFlipOptions {
  std::optional<std::int64_t> seed = std::nullopt;
  std::string data_format = {};
  DTypePolicy dtype = {};
  std::string name = {};
};

class RandomFlipLayer : public ImageLayer {
 public:
  explicit RandomFlipLayer(std::string mode = "horizontal_and_vertical", RandomFlipOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;

 protected:
  Tensor transform(const Tensor& images, bool training) override;

 private:
  std::string mode_;
};

// In training, mirrors each image with a probability of one half.
// Input images (batch, height, width, channels) or one without the batch, output of the same shape.
//   mode: 'horizontal' mirrors left and right, 'vertical' top and bottom, 'horizontal_and_vertical' both at once, a
//     half turn.
struct RandomFlip : LayerHandle<RandomFlipLayer> {
  explicit RandomFlip(std::string mode = "horizontal_and_vertical", RandomFlipOptions options = {});
};

}  // namespace cohort::layers
