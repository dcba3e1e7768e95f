#pragma once

#include <string>

#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct ELUOptions {
  double alpha = 1.0;  // The output tends to -alpha for very negative inputs.
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(ELUOptions, alpha)

class ELULayer : public Layer {
 public:
  explicit ELULayer(ELUOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  ELUOptions options_;
};

// The exponential linear unit: x where it is positive, elsewhere alpha * (exp(x) - 1).
// Input any shape, output the same shape.
struct ELU : LayerHandle<ELULayer> {
  explicit ELU(ELUOptions options = {});
};

}  // namespace cohort::layers
