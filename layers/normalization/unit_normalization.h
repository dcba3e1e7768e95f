#pragma once

#include <string>

#include "cohort/model/layer/layer.h"
#include "cohort/ops/reduce.h"

namespace cohort::layers {

struct UnitNormalizationOptions {
  ops::Axes axis = -1;  // Axis or axes whose elements form one vector.
  DTypePolicy dtype = {};
  std::string name = {};
};

class UnitNormalizationLayer : public Layer {
 public:
  explicit UnitNormalizationLayer(UnitNormalizationOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  UnitNormalizationOptions options_;
};

// Scales each sample to Euclidean length 1 over the given axes, the last by default.
// Input (batch, ...), output the same shape.
struct UnitNormalization : LayerHandle<UnitNormalizationLayer> {
  explicit UnitNormalization(UnitNormalizationOptions options = {});
};

}  // namespace cohort::layers
