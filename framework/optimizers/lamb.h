#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/optimizers/single_op_optimizer.h"

namespace cohort::optimizers {

struct LambOptions {
  double beta_1 = 0.9;
  double beta_2 = 0.999;
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
  std::string name = "lamb";
};
COHORT_FIELDS(LambOptions, beta_1, beta_2, epsilon)

class LambOptimizer : public SingleOpOptimizer {
 public:
  explicit LambOptimizer(LearningRate learning_rate = 0.001, LambOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  bool needs_whole_variable() const override { return true; }

 protected:
  void make_slots(const Variables& variables) override;
  UpdateOp update_op() const override;

 private:
  LambOptions options_;
};

// Adam whose step for a variable is as long as the variable, times the rate: for very large batches. It needs variables
// whole, not sharded.
//   learning_rate: step size, a number or a schedule.
struct Lamb : Optimizer::Handle<LambOptimizer> {
  explicit Lamb(LearningRate learning_rate = 0.001, LambOptions options = {});
};

}  // namespace cohort::optimizers
