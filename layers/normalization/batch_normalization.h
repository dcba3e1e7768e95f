#pragma once

#include <optional>
#include <string>

#include "cohort/config/rare_fields.h"
#include "cohort/model/layer/layer.h"

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
  // Batch renormalization: in training too, outputs are brought near what the moving statistics would give, by factors
  // held within "rmin", "rmax" and by shifts within "dmax".
  bool renorm = false;
  std::optional<NumberDict> renorm_clipping = std::nullopt;
  double renorm_momentum = 0.99;
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
  std::vector<std::string> argument_names() const override { return {"inputs", "mask"}; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void build(const Shape& input) override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  // What x is normalized with, and scaled and shifted by afterwards; both or one of the latter may be undefined.
  struct Statistics {
    Tensor mean, variance, gamma, beta;
  };
  Tensor normalize(const Tensor& x, const Statistics& statistics) const;
  Statistics moments(const Tensor& x, const Tensor& mask) const;
  void renormalize(Statistics& batch);
  Variable add_statistic(const char* name, const Shape& channels, const Ref<Initializer>& initializer);
  BatchNormalizationOptions options_;
  Variable gamma_, beta_, moving_mean_, moving_variance_;
  Variable moving_stddev_, renorm_mean_, renorm_stddev_;  // of batch renormalization
};

struct BatchNormalization : LayerHandle<BatchNormalizationLayer> {
  explicit BatchNormalization(BatchNormalizationOptions options = {})
      : LayerHandle<BatchNormalizationLayer>(std::make_shared<BatchNormalizationLayer>(std::move(options))) {}
};

}  // namespace cohort::layers
