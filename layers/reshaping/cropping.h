#pragma once

#include <string>

#include "cohort/layers/basic_options.h"
#include "cohort/layers/reshaping/margins.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

// The options of Cropping2D and Cropping3D.
struct CroppingOptions {
  // 'channels_last' when left out, or 'channels_first'.
  std::string data_format = {};
  DTypePolicy dtype = {};
  std::string name = {};
};

// What the layers share that cut elements off the ends of 1, 2 or 3 axes.
class CroppingLayer : public Layer {
 public:
  CroppingLayer(int axes, Margins cropping, CroppingOptions options);
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  int axes_;
  Margins cropping_;
  CroppingOptions options_;
};

class Cropping1DLayer : public CroppingLayer {
 public:
  explicit Cropping1DLayer(Margin cropping = 1, NameOption options = {})
      : CroppingLayer(1, Margins{cropping}, {.dtype = options.dtype, .name = std::move(options.name)}) {
    Cropping1DLayer::fields_changed();
  }
};

// Cuts elements off both ends of the steps.
// Input (batch, steps, channels), output (batch, steps - cropped, channels).
//   cropping: number of steps cut off at each end, or {before, after}.
struct Cropping1D : LayerHandle<Cropping1DLayer> {
  explicit Cropping1D(Margin cropping = 1, NameOption options = {});
};

class Cropping2DLayer : public CroppingLayer {
 public:
  explicit Cropping2DLayer(Margins cropping = 0, CroppingOptions options = {})
      : CroppingLayer(2, std::move(cropping), std::move(options)) {
    Cropping2DLayer::fields_changed();
  }
};

// Cuts elements off both ends of height and width.
// Input (batch, height, width, channels), output (batch, height - cropped, width - cropped, channels).
//   cropping: number of elements cut off at each end of height and width: one for all, one for each axis, or
//     {before, after} for each.
struct Cropping2D : LayerHandle<Cropping2DLayer> {
  explicit Cropping2D(Margins cropping = 0, CroppingOptions options = {});
};

class Cropping3DLayer : public CroppingLayer {
 public:
  explicit Cropping3DLayer(Margins cropping = 1, CroppingOptions options = {})
      : CroppingLayer(3, std::move(cropping), std::move(options)) {
    Cropping3DLayer::fields_changed();
  }
};

// Cuts elements off both ends of depth, height and width.
// Input (batch, depth, height, width, channels), output (batch, depth - cropped, height - cropped, width - cropped,
// channels).
//   cropping: number of elements cut off at each end of depth, height and width: one for all, one for each axis, or
//     {before, after} for each.
struct Cropping3D : LayerHandle<Cropping3DLayer> {
  explicit Cropping3D(Margins cropping = 1, CroppingOptions options = {});
};

}  // namespace cohort::layers
