#pragma once

#include <string>

#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct ELUOptions {
  double alpha = 1.0;
  DTypePolicy dtype = {};
  std::string name = {};
};

// x where it is positive, elsewhere alpha * (exp(x) - 1).
class ELULayer : public Layer {
 public:
  explicit ELULayer(ELUOptions options = {});
  std::string class_name() const override { return "ELU"; }
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  ELUOptions options_;
};

struct ELU : LayerHandle<ELULayer> {
  explicit ELU(ELUOptions options = {}) : LayerHandle<ELULayer>(std::make_shared<ELULayer>(std::move(options))) {}
};

}  // namespace cohort::layers
