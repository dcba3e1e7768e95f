#pragma once

#include <optional>
#include <string>

#include "cohort/config/config_value.h"
#include "cohort/model/layer/layer.h"

namespace cohort {
class ReplicaContext;
}

namespace cohort::layers {

struct BatchNormalizationOptions {
  int axis = -1;           // Axis of the channels; 1 with channels first.
  double momentum = 0.99;  // Share of the old value that the moving statistics keep at each step.
  double epsilon = 1e-3;   // Added to the variance before the root, so that nothing is divided by zero.
  bool center = true;      // Add beta, a weight for each channel.
  bool scale = true;       // Multiply by gamma, a weight for each channel.
  Ref<Initializer> beta_initializer = "zeros";
  Ref<Initializer> gamma_initializer = "ones";
  Ref<Initializer> moving_mean_initializer = "zeros";
  Ref<Initializer> moving_variance_initializer = "ones";
  Ref<Regularizer> beta_regularizer = {};
  Ref<Regularizer> gamma_regularizer = {};
  Ref<Constraint> beta_constraint = {};
  Ref<Constraint> gamma_constraint = {};
  // Batch renormalization: in training too, outputs are corrected by a factor and a shift towards what the moving
  // statistics would give.
  bool renorm = false;
  // Bounds 'rmin' and 'rmax' of that factor and 'dmax' of the shift's absolute value; empty, or a key left out: not
  // bounded.
  std::optional<NumberDict> renorm_clipping = std::nullopt;
  // Share of the old value that the statistics used for the correction keep at each step.
  double renorm_momentum = 0.99;
  // Under a strategy whose replicas train in step, take the statistics of the whole global batch; else each replica
  // takes those of its own part. Workers of parameter servers never wait for each other: there it changes nothing.
  bool synchronized = false;
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(BatchNormalizationOptions, axis, momentum, epsilon, center, scale, beta_initializer, gamma_initializer,
              moving_mean_initializer, moving_variance_initializer, beta_regularizer, gamma_regularizer,
              beta_constraint, gamma_constraint, synchronized, renorm, renorm_clipping, renorm_momentum)

class BatchNormalizationLayer : public Layer {
 public:
  explicit BatchNormalizationLayer(BatchNormalizationOptions options = {});
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
  Statistics synchronized_moments(const Tensor& x, const Tensor& mask, const ReplicaContext& replica) const;
  void warn_of_own_statistics();
  void renormalize(Statistics& batch);
  Variable add_statistic(const char* name, const Shape& channels, const Ref<Initializer>& initializer);
  BatchNormalizationOptions options_;
  Variable gamma_, beta_, moving_mean_, moving_variance_;
  bool warned_ = false;
  Variable moving_stddev_, renorm_mean_, renorm_stddev_;  // of batch renormalization
};

// Normalizes each channel to mean 0 and variance 1, then multiplies by gamma and adds beta. In training it uses the
// mean and variance of the batch, without what a mask leaves out, and updates the moving statistics; else, and when
// frozen by trainable = false, it uses the moving statistics.
// Input (batch, ..., channels), output the same shape.
struct BatchNormalization : LayerHandle<BatchNormalizationLayer> {
  explicit BatchNormalization(BatchNormalizationOptions options = {});
};

}  // namespace cohort::layers
