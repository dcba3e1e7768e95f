#pragma once

#include <string>

#include "cohort/model/layer/layer.h"
#include "cohort/ops/reduce.h"

namespace cohort::layers {

struct RMSNormalizationOptions {
  ops::Axes axis = -1;    // Axis or axes that are normalized together.
  double epsilon = 1e-6;  // Added to the mean square before the root, so that nothing is divided by zero.
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(RMSNormalizationOptions, epsilon)

class RMSNormalizationLayer : public Layer {
 public:
  explicit RMSNormalizationLayer(RMSNormalizationOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void build(const Shape& input) override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  RMSNormalizationOptions options_;
  Variable scale_;
};

// Divides each sample by its root mean square over the given axes, the last by default, and multiplies by a trainable
// scale of the shape of these axes.
// Input (batch, ...), output the same shape.
struct RMSNormalization : LayerHandle<RMSNormalizationLayer> {
  explicit RMSNormalization(RMSNormalizationOptions options = {});
};

}  // namespace cohort::layers
