#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/layers/preprocessing/random_affine.h"

namespace cohort::layers {

struct RandomZoomOptions {
  std::optional<Factor> width_factor = std::nullopt;  // none: as the height, keeping the ratio
  std::string fill_mode = "reflect";                  // or "wrap", "constant", "nearest"
  std::string interpolation = "bilinear";             // or "nearest"
  std::optional<std::int64_t> seed = std::nullopt;
  double fill_value = 0.0;
  std::string data_format = {};  // "channels_last" when left out, or "channels_first"
  DTypePolicy dtype = {};
  std::string name = {};
};

// In training, zooms each image about its middle: by 1 + a number between the ends of the factor, where a positive one
// zooms out.
class RandomZoomLayer : public RandomAffineLayer {
 public:
  RandomZoomLayer() : RandomZoomLayer(0.0) {}
  explicit RandomZoomLayer(Factor height_factor, RandomZoomOptions options = {});
  std::string class_name() const override { return "RandomZoom"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;

 protected:
  Maps draw_maps(const Tensor& images, double height, double width) override;

 private:
  Factor height_factor_;
  std::optional<Factor> width_factor_;
};

struct RandomZoom : LayerHandle<RandomZoomLayer> {
  explicit RandomZoom(Factor height_factor, RandomZoomOptions options = {})
      : LayerHandle<RandomZoomLayer>(std::make_shared<RandomZoomLayer>(std::move(height_factor), std::move(options))) {}
};

}  // namespace cohort::layers
