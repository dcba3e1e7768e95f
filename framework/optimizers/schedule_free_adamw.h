#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/optimizers/single_op_optimizer.h"

namespace cohort::optimizers {

struct ScheduleFreeAdamWOptions {
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-8;
  // Steps over which the rate rises linearly from 0; 0: none.
  std::int64_t warmup_steps = 0;
  std::optional<double> weight_decay = std::nullopt;
  std::optional<double> clipnorm = std::nullopt;
  std::optional<double> clipvalue = std::nullopt;
  std::optional<double> global_clipnorm = std::nullopt;
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = std::nullopt;
  std::optional<double> loss_scale_factor = std::nullopt;
  std::optional<std::int64_t> gradient_accumulation_steps = std::nullopt;
  std::string name = "schedule_free_adam_w";
};
COHORT_FIELDS(ScheduleFreeAdamWOptions, beta_1, beta_2, epsilon, warmup_steps)

class ScheduleFreeAdamWOptimizer : public SingleOpOptimizer {
 public:
  explicit ScheduleFreeAdamWOptimizer(LearningRate learning_rate = 0.0025, ScheduleFreeAdamWOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void build(const Variables& variables) override;

 protected:
  void make_slots(const Variables& variables) override;
  UpdateOp update_op() const override;

 private:
  ScheduleFreeAdamWOptions options_;
};

// AdamW that averages its iterates instead of letting the rate decay: no schedule is needed.
//   learning_rate: step size, a number or a schedule.
struct ScheduleFreeAdamW : Optimizer::Handle<ScheduleFreeAdamWOptimizer> {
  explicit ScheduleFreeAdamW(LearningRate learning_rate = 0.0025, ScheduleFreeAdamWOptions options = {});
};

}  // namespace cohort::optimizers
