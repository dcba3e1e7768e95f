#pragma once

#include <string>

#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct GlobalPoolingOptions {
  std::string data_format = {};
  bool keepdims = false;  // Keep the reduced axes, with size 1.
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(GlobalPoolingOptions, data_format, keepdims)

// What the layers share that reduce all of 1, 2 or 3 axes: (batch, ..., channels) to (batch, channels), or with
// keepdims to (batch, 1, ..., channels).
class GlobalPoolingLayer : public Layer {
 public:
  GlobalPoolingLayer(int axes, bool maximum, GlobalPoolingOptions options);
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;
  Element compute_mask(const Element& inputs, const Element& mask) override;

 private:
  int axes_;
  bool maximum_;
  GlobalPoolingOptions options_;
};

class GlobalAveragePooling1DLayer : public GlobalPoolingLayer {
 public:
  explicit GlobalAveragePooling1DLayer(GlobalPoolingOptions options = {})
      : GlobalPoolingLayer(1, false, std::move(options)) {
    GlobalAveragePooling1DLayer::fields_changed();
  }
  std::vector<std::string> argument_names() const override { return {"inputs", "mask"}; }
};

// The mean over the steps; with a mask, over the steps it lets count.
// Input (batch, steps, channels), output (batch, channels), with keepdims (batch, 1, channels).
struct GlobalAveragePooling1D : LayerHandle<GlobalAveragePooling1DLayer> {
  explicit GlobalAveragePooling1D(GlobalPoolingOptions options = {});
};

class GlobalAveragePooling2DLayer : public GlobalPoolingLayer {
 public:
  explicit GlobalAveragePooling2DLayer(GlobalPoolingOptions options = {})
      : GlobalPoolingLayer(2, false, std::move(options)) {
    GlobalAveragePooling2DLayer::fields_changed();
  }
};

// The mean over height and width.
// Input (batch, height, width, channels), output (batch, channels), with keepdims (batch, 1, 1, channels).
struct GlobalAveragePooling2D : LayerHandle<GlobalAveragePooling2DLayer> {
  explicit GlobalAveragePooling2D(GlobalPoolingOptions options = {});
};

class GlobalAveragePooling3DLayer : public GlobalPoolingLayer {
 public:
  explicit GlobalAveragePooling3DLayer(GlobalPoolingOptions options = {})
      : GlobalPoolingLayer(3, false, std::move(options)) {
    GlobalAveragePooling3DLayer::fields_changed();
  }
};

// The mean over depth, height and width.
// Input (batch, depth, height, width, channels), output (batch, channels), with keepdims (batch, 1, 1, 1, channels).
struct GlobalAveragePooling3D : LayerHandle<GlobalAveragePooling3DLayer> {
  explicit GlobalAveragePooling3D(GlobalPoolingOptions options = {});
};

class GlobalMaxPooling1DLayer : public GlobalPoolingLayer {
 public:
  explicit GlobalMaxPooling1DLayer(GlobalPoolingOptions options = {})
      : GlobalPoolingLayer(1, true, std::move(options)) {
    GlobalMaxPooling1DLayer::fields_changed();
  }
};

// The maximum over the steps.
// Input (batch, steps, channels), output (batch, channels), with keepdims (batch, 1, channels).
struct GlobalMaxPooling1D : LayerHandle<GlobalMaxPooling1DLayer> {
  explicit GlobalMaxPooling1D(GlobalPoolingOptions options = {});
};

class GlobalMaxPooling2DLayer : public GlobalPoolingLayer {
 public:
  explicit GlobalMaxPooling2DLayer(GlobalPoolingOptions options = {})
      : GlobalPoolingLayer(2, true, std::move(options)) {
    GlobalMaxPooling2DLayer::fields_changed();
  }
};

// The maximum over height and width.
// Input (batch, height, width, channels), output (batch, channels), with keepdims (batch, 1, 1, channels).
struct GlobalMaxPooling2D : LayerHandle<GlobalMaxPooling2DLayer> {
  explicit GlobalMaxPooling2D(GlobalPoolingOptions options = {});
};

class GlobalMaxPooling3DLayer : public GlobalPoolingLayer {
 public:
  explicit GlobalMaxPooling3DLayer(GlobalPoolingOptions options = {})
      : GlobalPoolingLayer(3, true, std::move(options)) {
    GlobalMaxPooling3DLayer::fields_changed();
  }
};

// The maximum over depth, height and width.
// Input (batch, depth, height, width, channels), output (batch, channels), with keepdims (batch, 1, 1, 1, channels).
struct GlobalMaxPooling3D : LayerHandle<GlobalMaxPooling3DLayer> {
  explicit GlobalMaxPooling3D(GlobalPoolingOptions options = {});
};

}  // namespace cohort::layers
