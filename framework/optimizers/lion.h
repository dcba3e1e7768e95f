#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/optimizers/single_op_optimizer.h"

namespace cohort::optimizers {

struct LionOptions {
  double beta_1 = 0.9;
  double beta_2 = 0.99;
  std::optional<double> weight_decay = std::nullopt;
  std::optional<double> clipnorm = std::nullopt;
  std::optional<double> clipvalue = std::nullopt;
  std::optional<double> global_clipnorm = std::nullopt;
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = std::nullopt;
  std::optional<double> loss_scale_factor = std::nullopt;
  std::optional<std::int64_t> gradient_accumulation_steps = std::nullopt;
  std::string name = "lion";
};
COHORT_FIELDS(LionOptions, beta_1, beta_2)

class LionOptimizer : public SingleOpOptimizer {
 public:
  explicit LionOptimizer(LearningRate learning_rate = 0.001, LionOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;

 protected:
  void make_slots(const Variables& variables) override;
  UpdateOp update_op() const override;
  DenseGradient dense(const Gradient& gradient) const override { return {gradient.dense()}; }

 private:
  LionOptions options_;
};

// Lion: steps of one size in the direction of the sign of a running mean of gradients.
//   learning_rate: step size, a number or a schedule.
struct Lion : Optimizer::Handle<LionOptimizer> {
  explicit Lion(LearningRate learning_rate = 0.001, LionOptions options = {});
};

}  // namespace cohort::optimizers
