#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/layers/preprocessing/image_layer.h"

namespace cohort::layers {

// The options of RandomBrightness and RandomContrast.
struct RandomColorOptions {
  // Least and greatest value of a pixel; results are clipped to it.
  std::vector<double> value_range = {0, 255};
  std::optional<std::int64_t> seed = std::nullopt;
  std::string data_format = {};
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(RandomColorOptions, value_range)

// What the layers share that change the values of pixels by a random amount for each image, in training only.
class RandomColorLayer : public ImageLayer {
 public:
  RandomColorLayer(Factor factor, RandomColorOptions options);
  void visit_fields(FieldVisitor& visitor) override;

 protected:
  Tensor transform(const Tensor& images, bool training) override;
  virtual Tensor change(const Tensor& images) = 0;
  void check_range();

  Factor factor_;
  RandomColorOptions options_;
};

class RandomBrightnessLayer : public RandomColorLayer {
 public:
  RandomBrightnessLayer() : RandomBrightnessLayer(0.0) {}
  explicit RandomBrightnessLayer(Factor factor, RandomColorOptions options = {});
  void fields_changed() override;

 protected:
  Tensor change(const Tensor& images) override;
};

// In training, adds a random number to all pixels of an image: a random fraction of the width of value_range.
// Input images (batch, height, width, channels) or one without the batch, output of the same shape.
//   factor: range of the fraction, within [-1, 1]: f means {-f, f}, two numbers are its ends.
struct RandomBrightness : LayerHandle<RandomBrightnessLayer> {
  explicit RandomBrightness(Factor factor, RandomColorOptions options = {});
};

class RandomContrastLayer : public RandomColorLayer {
 public:
  RandomContrastLayer() : RandomContrastLayer(0.0) {}
  explicit RandomContrastLayer(Factor factor, RandomColorOptions options = {});
  void fields_changed() override;

 protected:
  Tensor change(const Tensor& images) override;
};

// In training, multiplies the distance of an image's pixels from the mean of their channel by a random number.
// Input images (batch, height, width, channels) or one without the batch, output of the same shape.
//   factor: {a, b}, both within [0, 1]: the number is drawn from 1 - a to 1 + b; f means {0, f}.
struct RandomContrast : LayerHandle<RandomContrastLayer> {
  explicit RandomContrast(Factor factor, RandomColorOptions options = {})
      : LayerHandle<RandomContrastLayer>(std::make_shared<RandomContrastLayer>(std::move(factor), std::move(options))) {
  }
};

}  // namespace cohort::layers
