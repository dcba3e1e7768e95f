#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/layers/preprocessing/image_layer.h"

namespace cohort::layers {

// The options of RandomRotation and RandomTranslation.
struct RandomAffineOptions {
  // What lies outside the image: 'reflect' (dcba|abcd|dcba), 'wrap' (abcd|abcd|abcd), 'nearest' (aaaa|abcd|dddd) or
  // 'constant', the fill_value.
  std::string fill_mode = "reflect";
  // How pixels between pixels are computed: 'bilinear' or 'nearest'.
  std::string interpolation = "bilinear";
  std::optional<std::int64_t> seed = std::nullopt;
  // Value of pixels outside the image with fill_mode 'constant'.
  double fill_value = 0.0;
  std::string data_format = {};
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
