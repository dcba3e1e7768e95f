#pragma once

#include <string>

#include "cohort/layers/reshaping/margins.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct ZeroPaddingOptions {
  std::string data_format = {};
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(ZeroPaddingOptions, data_format)

// What the layers share that put zeros around 1, 2 or 3 axes.
class ZeroPaddingLayer : public Layer {
 public:
  ZeroPaddingLayer(int axes, Margins padding, ZeroPaddingOptions options);
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  int axes_;
  Margins padding_;
  ZeroPaddingOptions options_;
};

class ZeroPadding1DLayer : public ZeroPaddingLayer {
 public:
  explicit ZeroPadding1DLayer(Margin padding = 1, ZeroPaddingOptions options = {})
      : ZeroPaddingLayer(1, Margins{padding}, std::move(options)) {
    ZeroPadding1DLayer::fields_changed();
  }
};

// Adds zeros at both ends of the steps.
// Input (batch, steps, channels), output (batch, steps + padded, channels).
//   padding: number of steps added at each end, or {before, after}.
struct ZeroPadding1D : LayerHandle<ZeroPadding1DLayer> {
  explicit ZeroPadding1D(Margin padding = 1, ZeroPaddingOptions options = {});
};

class ZeroPadding2DLayer : public ZeroPaddingLayer {
 public:
  explicit ZeroPadding2DLayer(Margins padding = 1, ZeroPaddingOptions options = {})
      : ZeroPaddingLayer(2, std::move(padding), std::move(options)) {
    ZeroPadding2DLayer::fields_changed();
  }
};

// Adds zeros at both ends of height and width.
// Input (batch, height, width, channels), output (batch, height + padded, width + padded, channels).
//   padding: number of elements added at each end of height and width: one for all, one for each axis, or
//     {before, after} for each.
struct ZeroPadding2D : LayerHandle<ZeroPadding2DLayer> {
  explicit ZeroPadding2D(Margins padding = 1, ZeroPaddingOptions options = {});
};

class ZeroPadding3DLayer : public ZeroPaddingLayer {
 public:
  explicit ZeroPadding3DLayer(Margins padding = 1, ZeroPaddingOptions options = {})
      : ZeroPaddingLayer(3, std::move(padding), std::move(options)) {
    ZeroPadding3DLayer::fields_changed();
  }
};

// Adds zeros at both ends of depth, height and width.
// Input (batch, depth, height, width, channels), output (batch, depth + padded, height + padded, width + padded,
// channels).
//   padding: number of elements added at each end of depth, height and width: one for all, one for each axis, or
//     {before, after} for each.
struct ZeroPadding3D : LayerHandle<ZeroPadding3DLayer> {
  explicit ZeroPadding3D(Margins padding = 1, ZeroPaddingOptions options = {});
};

}  // namespace cohort::layers
