#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/model/layer.h"

namespace cohort::layers {

struct BatchNormalizationOptions {
  int axis = -1;  // of the channels
  double momentum = 0.99;
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  Ref<Initializer> beta_initializer = "zeros";
  Ref<Initializer> gamma_initializer = "ones";
  Ref<Initializer> moving_mean_initializer = "zeros";
  Ref<Initializer> moving_variance_initializer = "ones";
  Ref<Regularizer> beta_regularizer = {};
  Ref<Regularizer> gamma_regularizer = {};
  Ref<Constraint> beta_constraint = {};
  Ref<Constraint> gamma_constraint = {};
  // Kept in configs. Statistics are those of the batch this replica sees: equal to synchronized ones where there is one
  // replica, as on one machine or on parameter-server workers, which never wait for each other.
  bool synchronized = false;
  DTypePolicy dtype = {};
  std::string name = {};
};

// Normalizes each channel of (batch, ..., channels): in training with the mean and variance of the batch, which the
// moving statistics follow, else with these. Frozen by trainable = false it always uses the moving statistics.
class BatchNormalizationLayer : public Layer {
 public:
  explicit BatchNormalizationLayer(BatchNormalizationOptions options = {});
  std::string class_name() const override { return "BatchNormalization"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void build(const Shape& input) override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  Tensor normalize(const Tensor& x, const Tensor& mean, const Tensor& variance) const;
  void follow(const Tensor& mean, const Tensor& variance);
  BatchNormalizationOptions options_;
  bool renorm_ = false;
  std::optional<std::vector<double>> renorm_clipping_;
  double renorm_momentum_ = 0.99;
  Variable gamma_, beta_, moving_mean_, moving_variance_;
};

struct BatchNormalization : LayerHandle<BatchNormalizationLayer> {
  explicit BatchNormalization(BatchNormalizationOptions options = {})
      : LayerHandle<BatchNormalizationLayer>(std::make_shared<BatchNormalizationLayer>(std::move(options))) {}
};

}  // namespace cohort::layers
