#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/optimizers/single_op_optimizer.h"

namespace cohort::optimizers {

struct AdamOptions {
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  // Divide by the largest mean square seen so far in place of the current one.
  bool amsgrad = false;
  std::optional<double> weight_decay = std::nullopt;
  std::optional<double> clipnorm = std::nullopt;
  std::optional<double> clipvalue = std::nullopt;
  std::optional<double> global_clipnorm = std::nullopt;
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = std::nullopt;
  std::optional<double> loss_scale_factor = std::nullopt;
  std::optional<std::int64_t> gradient_accumulation_steps = std::nullopt;
  std::string name = "adam";
};
COHORT_FIELDS(AdamOptions, beta_1, beta_2, epsilon, amsgrad)

class AdamOptimizer : public SingleOpOptimizer {
 public:
  explicit AdamOptimizer(LearningRate learning_rate = 0.001, AdamOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;

 protected:
  void make_slots(const Variables& variables) override;
  UpdateOp update_op() const override;

 private:
  AdamOptions options_;
};

// Adam: steps scaled by running means of the gradient and of its square.
//   learning_rate: step size, a number or a schedule.
struct Adam : Optimizer::Handle<AdamOptimizer> {
  explicit Adam(LearningRate learning_rate = 0.001, AdamOptions options = {});
};

}  // namespace cohort::optimizers
