#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/optimizers/single_op_optimizer.h"

namespace cohort::optimizers {

struct AdadeltaOptions {
  // Decay of the running means of squared gradients and squared steps, per step.
  double rho = 0.95;
  double epsilon = 1e-7;
  std::optional<double> weight_decay = std::nullopt;
  std::optional<double> clipnorm = std::nullopt;
  std::optional<double> clipvalue = std::nullopt;
  std::optional<double> global_clipnorm = std::nullopt;
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = std::nullopt;
  std::optional<double> loss_scale_factor = std::nullopt;
  std::optional<std::int64_t> gradient_accumulation_steps = std::nullopt;
  std::string name = "adadelta";
};
COHORT_FIELDS(AdadeltaOptions, rho, epsilon)

class AdadeltaOptimizer : public SingleOpOptimizer {
 public:
  explicit AdadeltaOptimizer(LearningRate learning_rate = 0.001, AdadeltaOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;

 protected:
  void make_slots(const Variables& variables) override;
  UpdateOp update_op() const override;

 private:
  AdadeltaOptions options_;
};

// Adadelta: steps scaled by the ratio of the sizes of recent steps and recent gradients.
//   learning_rate: factor of the step, a number or a schedule; 1.0 is the form of the paper.
struct Adadelta : Optimizer::Handle<AdadeltaOptimizer> {
  explicit Adadelta(LearningRate learning_rate = 0.001, AdadeltaOptions options = {});
};

}  // namespace cohort::optimizers
