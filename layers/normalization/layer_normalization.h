#pragma once

#include <string>

#include "cohort/model/layer/layer.h"
#include "cohort/ops/reduce.h"

namespace cohort::layers {

struct LayerNormalizationOptions {
  ops::Axes axis = -1;    // Axis or axes that are normalized together.
  double epsilon = 1e-3;  // Added to the variance before the root, so that nothing is divided by zero.
  bool center = true;     // Add beta, a weight of the shape of these axes.
  bool scale = true;      // Multiply by gamma, a weight of the shape of these axes.
  Ref<Initializer> beta_initializer = "zeros";
  Ref<Initializer> gamma_initializer = "ones";
  Ref<Regularizer> beta_regularizer = {};
  Ref<Regularizer> gamma_regularizer = {};
  Ref<Constraint> beta_constraint = {};
  Ref<Constraint> gamma_constraint = {};
  // Divide by the standard deviation without subtracting the mean, always multiply by gamma, never add beta; Keras
  // keeps it for old models.
  bool rms_scaling = false;
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(LayerNormalizationOptions, epsilon, center, scale, rms_scaling, beta_initializer, gamma_initializer,
              beta_regularizer, gamma_regularizer, beta_constraint, gamma_constraint)

class LayerNormalizationLayer : public Layer {
 public:
  explicit LayerNormalizationLayer(LayerNormalizationOptions options = {});
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

// Normalizes each sample over the given axes, the last by default, to mean 0 and variance 1, then multiplies by gamma
// and adds beta.
// Input (batch, ...), output the same shape.
struct LayerNormalization : LayerHandle<LayerNormalizationLayer> {
  explicit LayerNormalization(LayerNormalizationOptions options = {});
};

}  // namespace cohort::layers
