#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/layers/preprocessing/image_layer.h"

namespace cohort::layers {

struct RandomAffineOptions {
  std::string fill_mode = "reflect";       // or "wrap", "constant", "nearest"
  std::string interpolation = "bilinear";  // or "nearest"
  std::optional<std::int64_t> seed = std::nullopt;
  double fill_value = 0.0;
  std::string data_format = {};  // "channels_last" when left out, or "channels_first"
  DTypePolicy dtype = {};
  std::string name = {};
};

// What the layers share that move the pixels of each image by a random affine map, in training only.
class RandomAffineLayer : public ImageLayer {
 public:
  explicit RandomAffineLayer(RandomAffineOptions options);
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;

 protected:
  Tensor transform(const Tensor& images, bool training) override;
  // The columns (batch, 1) of the maps: output (x, y) shows the input at (a0 x + a1 y + a2, b0 x + b1 y + b2).
  struct Maps {
    Tensor a0, a1, a2, b0, b1, b2;
  };
  virtual Maps draw_maps(const Tensor& images, double height, double width) = 0;

 private:
  RandomAffineOptions options_;
};

}  // namespace cohort::layers
