#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/layers/seeded_layer.h"

namespace cohort::layers {

struct SpatialDropout1DOptions {
  std::optional<std::int64_t> seed = std::nullopt;
  DTypePolicy dtype = {};
  std::string name = {};
};

// The options of SpatialDropout2D and SpatialDropout3D.
struct SpatialDropoutOptions {
  // 'channels_last' when left out, or 'channels_first'.
  std::string data_format = {};
  std::optional<std::int64_t> seed = std::nullopt;
  DTypePolicy dtype = {};
  std::string name = {};
};

// In training, drops whole channels of (batch, ..., channels) with 1, 2 or 3 axes between, and scales the others by
// 1 / (1 - rate).
class SpatialDropoutLayer : public SeededLayer {
 public:
  SpatialDropoutLayer(int axes, double rate, SpatialDropoutOptions options);
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  bool writes_dtype_policy() const override { return false; }
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  int axes_;
  double rate_;
  std::string data_format_;
};

class SpatialDropout1DLayer : public SpatialDropoutLayer {
 public:
  SpatialDropout1DLayer() : SpatialDropout1DLayer(0.5) {}
  explicit SpatialDropout1DLayer(double rate, SpatialDropout1DOptions options = {})
      : SpatialDropoutLayer(1, rate, {.seed = options.seed, .dtype = options.dtype, .name = std::move(options.name)}) {
    SpatialDropout1DLayer::fields_changed();
  }
};

// In training, sets whole channels, over all of the steps, to 0 and multiplies the others by 1 / (1 - rate). Otherwise
// it returns its input.
// Input (batch, steps, channels), output the same shape.
//   rate: share of the channels that are dropped, in [0, 1].
struct SpatialDropout1D : LayerHandle<SpatialDropout1DLayer> {
  explicit SpatialDropout1D(double rate, SpatialDropout1DOptions options = {});
};

class SpatialDropout2DLayer : public SpatialDropoutLayer {
 public:
  SpatialDropout2DLayer() : SpatialDropout2DLayer(0.5) {}
  explicit SpatialDropout2DLayer(double rate, SpatialDropoutOptions options = {})
      : SpatialDropoutLayer(2, rate, std::move(options)) {
    SpatialDropout2DLayer::fields_changed();
  }
};

// In training, sets whole channels, over all of height and width, to 0 and multiplies the others by 1 / (1 - rate).
// Otherwise it returns its input.
// Input (batch, height, width, channels), output the same shape.
//   rate: share of the channels that are dropped, in [0, 1].
struct SpatialDropout2D : LayerHandle<SpatialDropout2DLayer> {
  explicit SpatialDropout2D(double rate, SpatialDropoutOptions options = {});
};

class SpatialDropout3DLayer : public SpatialDropoutLayer {
 public:
  SpatialDropout3DLayer() : SpatialDropout3DLayer(0.5) {}
  explicit SpatialDropout3DLayer(double rate, SpatialDropoutOptions options = {})
      : SpatialDropoutLayer(3, rate, std::move(options)) {
    SpatialDropout3DLayer::fields_changed();
  }
};

// In training, sets whole channels, over all of depth, height and width, to 0 and multiplies the others by
// 1 / (1 - rate). Otherwise it returns its input.
// Input (batch, depth, height, width, channels), output the same shape.
//   rate: share of the channels that are dropped, in [0, 1].
struct SpatialDropout3D : LayerHandle<SpatialDropout3DLayer> {
  explicit SpatialDropout3D(double rate, SpatialDropoutOptions options = {});
};

}  // namespace cohort::layers
