#pragma once

#include <string>

#include "cohort/model/layer.h"

namespace cohort::layers {

struct RescalingOptions {
  double offset = 0.0;
  DTypePolicy dtype = {};
  std::string name = {};
};

// input * scale + offset, in floating point.
class RescalingLayer : public Layer {
 public:
  RescalingLayer() : RescalingLayer(1.0) {}
  explicit RescalingLayer(double scale, RescalingOptions options = {});
  std::string class_name() const override { return "Rescaling"; }
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  double scale_;
  RescalingOptions options_;
};

struct Rescaling : LayerHandle<RescalingLayer> {
  explicit Rescaling(double scale, RescalingOptions options = {})
      : LayerHandle<RescalingLayer>(std::make_shared<RescalingLayer>(scale, std::move(options))) {}
};

}  // namespace cohort::layers
