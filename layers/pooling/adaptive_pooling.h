#pragma once

#include <string>

#include "cohort/layers/convolutional/window.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct AdaptivePoolingOptions {
  std::string data_format = {};
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(AdaptivePoolingOptions, data_format)

// Reduces windows so that `output_size` of them lie along each of 1, 2 or 3 axes, whatever the size of the input:
// (batch, ..., channels) to (batch, output_size, channels).
class AdaptivePoolingLayer : public Layer {
 public:
  AdaptivePoolingLayer(int axes, bool maximum, Window output_size, AdaptivePoolingOptions options);
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  int axes_;
  bool maximum_;
  Window output_size_;
  AdaptivePoolingOptions options_;
};

class AdaptiveAveragePooling1DLayer : public AdaptivePoolingLayer {
 public:
  explicit AdaptiveAveragePooling1DLayer(Window output_size = 1, AdaptivePoolingOptions options = {})
      : AdaptivePoolingLayer(1, false, std::move(output_size), std::move(options)) {
    AdaptiveAveragePooling1DLayer::fields_changed();
  }
};

// The mean of each of a fixed number of windows, spread evenly along the steps whatever the size of the input.
// Input (batch, steps, channels), output (batch, output_size, channels).
//   output_size: number of windows along the steps.
struct AdaptiveAveragePooling1D : LayerHandle<AdaptiveAveragePooling1DLayer> {
  explicit AdaptiveAveragePooling1D(Window output_size, AdaptivePoolingOptions options = {});
};

class AdaptiveAveragePooling2DLayer : public AdaptivePoolingLayer {
 public:
  explicit AdaptiveAveragePooling2DLayer(Window output_size = 1, AdaptivePoolingOptions options = {})
      : AdaptivePoolingLayer(2, false, std::move(output_size), std::move(options)) {
    AdaptiveAveragePooling2DLayer::fields_changed();
  }
};

// The mean of each of a fixed number of windows, spread evenly along height and width whatever the size of the input.
// Input (batch, height, width, channels), output (batch, output_size[0], output_size[1], channels).
//   output_size: number of windows along height and width; one number stands for both.
struct AdaptiveAveragePooling2D : LayerHandle<AdaptiveAveragePooling2DLayer> {
  explicit AdaptiveAveragePooling2D(Window output_size, AdaptivePoolingOptions options = {});
};

class AdaptiveAveragePooling3DLayer : public AdaptivePoolingLayer {
 public:
  explicit AdaptiveAveragePooling3DLayer(Window output_size = 1, AdaptivePoolingOptions options = {})
      : AdaptivePoolingLayer(3, false, std::move(output_size), std::move(options)) {
    AdaptiveAveragePooling3DLayer::fields_changed();
  }
};

// The mean of each of a fixed number of windows, spread evenly along depth, height and width whatever the size of the
// input.
// Input (batch, depth, height, width, channels), output (batch, output_size[0], output_size[1], output_size[2],
// channels).
//   output_size: number of windows along depth, height and width; one number stands for all three.
struct AdaptiveAveragePooling3D : LayerHandle<AdaptiveAveragePooling3DLayer> {
  explicit AdaptiveAveragePooling3D(Window output_size, AdaptivePoolingOptions options = {});
};

class AdaptiveMaxPooling1DLayer : public AdaptivePoolingLayer {
 public:
  explicit AdaptiveMaxPooling1DLayer(Window output_size = 1, AdaptivePoolingOptions options = {})
      : AdaptivePoolingLayer(1, true, std::move(output_size), std::move(options)) {
    AdaptiveMaxPooling1DLayer::fields_changed();
  }
};

// The maximum of each of a fixed number of windows, spread evenly along the steps whatever the size of the input.
// Input (batch, steps, channels), output (batch, output_size, channels).
//   output_size: number of windows along the steps.
struct AdaptiveMaxPooling1D : LayerHandle<AdaptiveMaxPooling1DLayer> {
  explicit AdaptiveMaxPooling1D(Window output_size, AdaptivePoolingOptions options = {});
};

class AdaptiveMaxPooling2DLayer : public AdaptivePoolingLayer {
 public:
  explicit AdaptiveMaxPooling2DLayer(Window output_size = 1, AdaptivePoolingOptions options = {})
      : AdaptivePoolingLayer(2, true, std::move(output_size), std::move(options)) {
    AdaptiveMaxPooling2DLayer::fields_changed();
  }
};

// The maximum of each of a fixed number of windows, spread evenly along height and width whatever the size of the
// input.
// Input (batch, height, width, channels), output (batch, output_size[0], output_size[1], channels).
//   output_size: number of windows along height and width; one number stands for both.
struct AdaptiveMaxPooling2D : LayerHandle<AdaptiveMaxPooling2DLayer> {
  explicit AdaptiveMaxPooling2D(Window output_size, AdaptivePoolingOptions options = {});
};

class AdaptiveMaxPooling3DLayer : public AdaptivePoolingLayer {
 public:
  explicit AdaptiveMaxPooling3DLayer(Window output_size = 1, AdaptivePoolingOptions options = {})
      : AdaptivePoolingLayer(3, true, std::move(output_size), std::move(options)) {
    AdaptiveMaxPooling3DLayer::fields_changed();
  }
};

// The maximum of each of a fixed number of windows, spread evenly along depth, height and width whatever the size of
// the input.
// Input (batch, depth, height, width, channels), output (batch, output_size[0], output_size[1], output_size[2],
// channels).
//   output_size: number of windows along depth, height and width; one number stands for all three.
struct AdaptiveMaxPooling3D : LayerHandle<AdaptiveMaxPooling3DLayer> {
  explicit AdaptiveMaxPooling3D(Window output_size, AdaptivePoolingOptions options = {});
};

}  // namespace cohort::layers
