#pragma once

#include <string>

#include "cohort/model/layer/layer.h"
#include "cohort/ops/reduce.h"

namespace cohort::layers {

struct LayerNormalizationOptions {
  ops::Axes axis = -1;  // that are normalized together
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  Ref<Initializer> beta_initializer = "zeros";
  Ref<Initializer> gamma_initializer = "ones";
  Ref<Regularizer> beta_regularizer = {};
  Ref<Regularizer> gamma_regularizer = {};
  Ref<Constraint> beta_constraint = {};
  Ref<Constraint> gamma_constraint = {};
  bool rms_scaling = false;  // divide by the deviation only; Keras keeps it for old models
  DTypePolicy dtype = {};
  std::string name = {};
};

// Normalizes each sample over some axes, the last by default, then scales by gamma and shifts by beta, which have the
// shape of these axes.
class LayerNormalizationLayer : public Layer {
 public:
  explicit LayerNormalizationLayer(LayerNormalizationOptions options = {});
  std::string class_name() const override { return "LayerNormalization"; }
  void visit_fields(FieldVisitor& visitor) override;
  void build(const Shape& input) override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 protected:
  // Statistics are taken of the inputs as they come.
  bool casts_inputs() const override { return false; }

 private:
  LayerNormalizationOptions options_;
  Variable gamma_, beta_;
};

struct LayerNormalization : LayerHandle<LayerNormalizationLayer> {
  explicit LayerNormalization(LayerNormalizationOptions options = {})
      : LayerHandle<LayerNormalizationLayer>(std::make_shared<LayerNormalizationLayer>(std::move(options))) {}
};

}  // namespace cohort::layers
