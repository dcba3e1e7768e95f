#pragma once

#include <cstdint>
#include <string>

#include "cohort/model/layer/activation.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct DenseOptions {
  Ref<cohort::Activation> activation = "linear";
  bool use_bias = true;
  Ref<Initializer> kernel_initializer = "glorot_uniform";
  Ref<Initializer> bias_initializer = "zeros";
  Ref<Regularizer> kernel_regularizer = {};
  Ref<Regularizer> bias_regularizer = {};
  Ref<Regularizer> activity_regularizer = {};
  Ref<Constraint> kernel_constraint = {};
  Ref<Constraint> bias_constraint = {};
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(DenseOptions, activation, use_bias, kernel_initializer, bias_initializer, kernel_regularizer,
              bias_regularizer, kernel_constraint, bias_constraint)

class DenseLayer : public Layer {
 public:
  DenseLayer() : DenseLayer(1) {}
  explicit DenseLayer(std::int64_t units, DenseOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void build(const Shape& input) override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  std::int64_t units_;
  DenseOptions options_;
  Variable kernel_, bias_;
};

// A fully connected layer: activation(input @ kernel + bias).
// Input (batch, ..., features), output (batch, ..., units).
//   units: size of the output's last axis.
struct Dense : LayerHandle<DenseLayer> {
  explicit Dense(std::int64_t units, DenseOptions options = {});
};

}  // namespace cohort::layers
