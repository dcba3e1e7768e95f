#pragma once

#include <string>

#include "cohort/model/layer/layer.h"
#include "cohort/ops/reduce.h"

namespace cohort::layers {

struct RMSNormalizationOptions {
  ops::Axes axis = -1;  // that are normalized together
  double epsilon = 1e-6;
  DTypePolicy dtype = {};
  std::string name = {};
};

// Divides each sample by the root of its mean square over some axes, the last by default, and scales the result.
class RMSNormalizationLayer : public Layer {
 public:
  explicit RMSNormalizationLayer(RMSNormalizationOptions options = {});
  std::string class_name() const override { return "RMSNormalization"; }
  void visit_fields(FieldVisitor& visitor) override;
  void build(const Shape& input) override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  RMSNormalizationOptions options_;
  Variable scale_;
};

struct RMSNormalization : LayerHandle<RMSNormalizationLayer> {
  explicit RMSNormalization(RMSNormalizationOptions options = {})
      : LayerHandle<RMSNormalizationLayer>(std::make_shared<RMSNormalizationLayer>(std::move(options))) {}
};

}  // namespace cohort::layers
