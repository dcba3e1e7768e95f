#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/layers/preprocessing/random_affine.h"

namespace cohort::layers {

struct RandomZoomOptions {
  // Range of the change in width, as height_factor for the height. None: the same zoom as the height, which keeps the
  // aspect ratio.
  std::optional<Factor> width_factor = std::nullopt;
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

class RandomZoomLayer : public RandomAffineLayer {
 public:
  RandomZoomLayer() : RandomZoomLayer(0.0) {}
  explicit RandomZoomLayer(Factor height_factor, RandomZoomOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;

 protected:
  Maps draw_maps(const Tensor& images, double height, double width) override;

 private:
  Factor height_factor_;
  std::optional<Factor> width_factor_;
};

// In training, zooms each image about its middle by a random amount.
// Input images (batch, height, width, channels) or one without the batch, output of the same shape.
//   height_factor: range of the change in height, above -1 and up to 1: positive zooms out, negative zooms in; f means
//     {-f, f}, two numbers are its ends.
struct RandomZoom : LayerHandle<RandomZoomLayer> {
  explicit RandomZoom(Factor height_factor, RandomZoomOptions options = {});
};

}  // namespace cohort::layers
