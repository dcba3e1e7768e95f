#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/layers/preprocessing/image_layer.h"

namespace cohort::layers {

struct RandomFlipOptions {
  std::optional<std::int64_t> seed = std::nullopt;
  std::string data_format = {};  // "channels_last" when left out, or "channels_first"
  DTypePolicy dtype = {};
  std::string name = {};
};

// In training, mirrors every second image at random: "horizontal", "vertical" or "horizontal_and_vertical", which turns
// it by a half.
class RandomFlipLayer : public ImageLayer {
 public:
  explicit RandomFlipLayer(std::string mode = "horizontal_and_vertical", RandomFlipOptions options = {});
  std::string class_name() const override { return "RandomFlip"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;

 protected:
  Tensor transform(const Tensor& images, bool training) override;

 private:
  std::string mode_;
};

struct RandomFlip : LayerHandle<RandomFlipLayer> {
  explicit RandomFlip(std::string mode = "horizontal_and_vertical", RandomFlipOptions options = {})
      : LayerHandle<RandomFlipLayer>(std::make_shared<RandomFlipLayer>(std::move(mode), std::move(options))) {}
};

}  // namespace cohort::layers
