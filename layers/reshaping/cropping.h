#pragma once

#include <string>

#include "cohort/layers/reshaping/margins.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct CroppingOptions {
  std::string data_format = {};  // "channels_last" when left out, or "channels_first"; always last in 1D
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

// Cuts elements off the ends of the steps of (batch, steps, channels).
class Cropping1DLayer : public CroppingLayer {
 public:
  explicit Cropping1DLayer(Margin cropping = 1, CroppingOptions options = {})
      : CroppingLayer(1, Margins{cropping}, std::move(options)) {
    Cropping1DLayer::fields_changed();
  }
  std::string class_name() const override { return "Cropping1D"; }
};
struct Cropping1D : LayerHandle<Cropping1DLayer> {
  explicit Cropping1D(Margin cropping = 1, CroppingOptions options = {})
      : LayerHandle<Cropping1DLayer>(std::make_shared<Cropping1DLayer>(cropping, std::move(options))) {}
};

// Cuts elements off the ends of height and width of (batch, height, width, channels).
class Cropping2DLayer : public CroppingLayer {
 public:
  explicit Cropping2DLayer(Margins cropping = 0, CroppingOptions options = {})
      : CroppingLayer(2, std::move(cropping), std::move(options)) {
    Cropping2DLayer::fields_changed();
  }
  std::string class_name() const override { return "Cropping2D"; }
};
struct Cropping2D : LayerHandle<Cropping2DLayer> {
  explicit Cropping2D(Margins cropping = 0, CroppingOptions options = {})
      : LayerHandle<Cropping2DLayer>(std::make_shared<Cropping2DLayer>(std::move(cropping), std::move(options))) {}
};

// Cuts elements off the ends of depth, height and width of (batch, depth, height, width, channels).
class Cropping3DLayer : public CroppingLayer {
 public:
  explicit Cropping3DLayer(Margins cropping = 1, CroppingOptions options = {})
      : CroppingLayer(3, std::move(cropping), std::move(options)) {
    Cropping3DLayer::fields_changed();
  }
  std::string class_name() const override { return "Cropping3D"; }
};
struct Cropping3D : LayerHandle<Cropping3DLayer> {
  explicit Cropping3D(Margins cropping = 1, CroppingOptions options = {})
      : LayerHandle<Cropping3DLayer>(std::make_shared<Cropping3DLayer>(std::move(cropping), std::move(options))) {}
};

}  // namespace cohort::layers
