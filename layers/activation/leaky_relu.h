#pragma once

#include <string>

#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct LeakyReLUOptions {
  double negative_slope = 0.3;  // Slope for negative inputs.
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(LeakyReLUOptions, negative_slope)

class LeakyReLULayer : public Layer {
 public:
  explicit LeakyReLULayer(LeakyReLUOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  LeakyReLUOptions options_;
};

// x where it is positive, elsewhere negative_slope * x.
// Input any shape, output the same shape.
struct LeakyReLU : LayerHandle<LeakyReLULayer> {
  explicit LeakyReLU(LeakyReLUOptions options = {});
};

}  // namespace cohort::layers
