#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/layers/preprocessing/image_layer.h"

namespace cohort::layers {

struct RandomColorOptions {
  std::vector<double> value_range = {0, 255};  // that results are held within
  std::optional<std::int64_t> seed = std::nullopt;
  std::string data_format = {};  // "channels_last" when left out, or "channels_first"
  DTypePolicy dtype = {};
  std::string name = {};
};

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

// Adds a random part of the value range, between the ends of the factor in [-1, 1].
class RandomBrightnessLayer : public RandomColorLayer {
 public:
  RandomBrightnessLayer() : RandomBrightnessLayer(0.0) {}
  explicit RandomBrightnessLayer(Factor factor, RandomColorOptions options = {});
  std::string class_name() const override { return "RandomBrightness"; }
  void fields_changed() override;

 protected:
  Tensor change(const Tensor& images) override;
};

struct RandomBrightness : LayerHandle<RandomBrightnessLayer> {
  explicit RandomBrightness(Factor factor, RandomColorOptions options = {})
      : LayerHandle<RandomBrightnessLayer>(
            std::make_shared<RandomBrightnessLayer>(std::move(factor), std::move(options))) {}
};

// Multiplies the distance from each channel's mean by a number between 1 - the lower end and 1 + the upper end of the
// factor, which lie in [0, 1]; one number stands for (0, number).
class RandomContrastLayer : public RandomColorLayer {
 public:
  RandomContrastLayer() : RandomContrastLayer(0.0) {}
  explicit RandomContrastLayer(Factor factor, RandomColorOptions options = {});
  std::string class_name() const override { return "RandomContrast"; }
  void fields_changed() override;

 protected:
  Tensor change(const Tensor& images) override;
};

struct RandomContrast : LayerHandle<RandomContrastLayer> {
  explicit RandomContrast(Factor factor, RandomColorOptions options = {})
      : LayerHandle<RandomContrastLayer>(std::make_shared<RandomContrastLayer>(std::move(factor), std::move(options))) {
  }
};

}  // namespace cohort::layers
