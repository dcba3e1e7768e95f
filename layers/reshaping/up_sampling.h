#pragma once

#include <cstdint>
#include <string>

#include "cohort/layers/basic_options.h"
#include "cohort/layers/convolutional/window.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

class UpSampling1DLayer : public Layer {
 public:
  explicit UpSampling1DLayer(std::int64_t size = 2, NameOption options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  std::int64_t size_;
};

// Repeats each step size times in a row.
// Input (batch, steps, channels), output (batch, steps * size, channels).
//   size: number of repetitions, from 1.
struct UpSampling1D : LayerHandle<UpSampling1DLayer> {
  explicit UpSampling1D(std::int64_t size = 2, NameOption options = {});
};

struct UpSampling2DOptions {
  std::string data_format = {};
  // 'nearest', which repeats elements, 'bilinear', 'bicubic', 'lanczos3', 'lanczos5' or 'area'.
  std::string interpolation = "nearest";
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(UpSampling2DOptions, data_format, interpolation)

class UpSampling2DLayer : public Layer {
 public:
  explicit UpSampling2DLayer(Window size = 2, UpSampling2DOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  Window size_;
  UpSampling2DOptions options_;
};

// Enlarges images by whole factors.
// Input (batch, height, width, channels), output (batch, height * size[0], width * size[1], channels).
//   size: factors for height and width; one number stands for both.
struct UpSampling2D : LayerHandle<UpSampling2DLayer> {
  explicit UpSampling2D(Window size = 2, UpSampling2DOptions options = {});
};

struct UpSampling3DOptions {
  std::string data_format = {};
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(UpSampling3DOptions, data_format)

class UpSampling3DLayer : public Layer {
 public:
  explicit UpSampling3DLayer(Window size = 2, UpSampling3DOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  Window size_;
  UpSampling3DOptions options_;
};

// Repeats each element along depth, height and width.
// Input (batch, depth, height, width, channels), output (batch, depth * size[0], height * size[1], width * size[2],
// channels).
//   size: factors for depth, height and width; one number stands for all three.
struct UpSampling3D : LayerHandle<UpSampling3DLayer> {
  explicit UpSampling3D(Window size = 2, UpSampling3DOptions options = {});
};

}  // namespace cohort::layers
