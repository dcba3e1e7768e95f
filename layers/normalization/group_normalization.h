#pragma once

#include <cstdint>
#include <string>

#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct GroupNormalizationOptions {
  int axis = -1;          // Axis of the channels; 1 with channels first.
  double epsilon = 1e-3;  // Added to the variance before the root, so that nothing is divided by zero.
  bool center = true;     // Add beta, a weight for each channel.
  bool scale = true;      // Multiply by gamma, a weight for each channel.
  Ref<Initializer> beta_initializer = "zeros";
  Ref<Initializer> gamma_initializer = "ones";
  Ref<Regularizer> beta_regularizer = {};
  Ref<Regularizer> gamma_regularizer = {};
  Ref<Constraint> beta_constraint = {};
  Ref<Constraint> gamma_constraint = {};
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(GroupNormalizationOptions, axis, epsilon, center, scale, beta_initializer, gamma_initializer,
              beta_regularizer, gamma_regularizer, beta_constraint, gamma_constraint)

class GroupNormalizationLayer : public Layer {
 public:
  explicit GroupNormalizationLayer(std::int64_t groups = 32, GroupNormalizationOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void build(const Shape& input) override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 protected:
  // Statistics are taken of the inputs as they come.
  bool casts_inputs() const override { return false; }

 private:
  std::int64_t groups_;
  GroupNormalizationOptions options_;
  Variable gamma_, beta_;
};

// Divides the channels into groups and normalizes each group of each sample to mean 0 and variance 1, then multiplies
// by gamma and adds beta.
// Input (batch, ..., channels), output the same shape.
//   groups: number of groups, a divisor of the number of channels; -1: as many as channels (instance normalization).
struct GroupNormalization : LayerHandle<GroupNormalizationLayer> {
  explicit GroupNormalization(std::int64_t groups = 32, GroupNormalizationOptions options = {});
};

}  // namespace cohort::layers
