#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/optimizers/single_op_optimizer.h"

namespace cohort::optimizers {

struct RMSpropOptions {
  // Decay of the running mean of squared gradients, per step.
  double rho = 0.9;
  // Share of the last step that is added to the next one; 0: none.
  double momentum = 0.0;
  double epsilon = 1e-7;
  // Divide by an estimate of the gradient's variance: the running mean is subtracted from the mean square.
  bool centered = false;
  std::optional<double> weight_decay = std::nullopt;
  std::optional<double> clipnorm = std::nullopt;
  std::optional<double> clipvalue = std::nullopt;
  std::optional<double> global_clipnorm = std::nullopt;
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = std::nullopt;
  std::optional<double> loss_scale_factor = std::nullopt;
  std::optional<std::int64_t> gradient_accumulation_steps = std::nullopt;
  std::string name = "rm_sprop";
};
COHORT_FIELDS(RMSpropOptions, rho, momentum, epsilon, centered)

class RMSpropOptimizer : public SingleOpOptimizer {
 public:
  explicit RMSpropOptimizer(LearningRate learning_rate = 0.001, RMSpropOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;

 protected:
  void make_slots(const Variables& variables) override;
  UpdateOp update_op() const override;

 private:
  RMSpropOptions options_;
};

// RMSprop: steps divided by a running root mean square of the gradient.
//   learning_rate: step size, a number or a schedule.
struct RMSprop : Optimizer::Handle<RMSpropOptimizer> {
  explicit RMSprop(LearningRate learning_rate = 0.001, RMSpropOptions options = {});
};

}  // namespace cohort::optimizers
