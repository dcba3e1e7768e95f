#pragma once

#include <string>

#include "cohort/model/layer/layer.h"
#include "cohort/ops/reduce.h"

namespace cohort::layers {

struct UnitNormalizationOptions {
  ops::Axes axis = -1;  // that form one vector
  DTypePolicy dtype = {};
  std::string name = {};
};

// Scales each sample to length 1 over some axes, the last by default.
class UnitNormalizationLayer : public Layer {
 public:
  explicit UnitNormalizationLayer(UnitNormalizationOptions options = {});
  std::string class_name() const override { return "UnitNormalization"; }
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  UnitNormalizationOptions options_;
};

struct UnitNormalization : LayerHandle<UnitNormalizationLayer> {
  explicit UnitNormalization(UnitNormalizationOptions options = {})
      : LayerHandle<UnitNormalizationLayer>(std::make_shared<UnitNormalizationLayer>(std::move(options))) {}
};

}  // namespace cohort::layers
