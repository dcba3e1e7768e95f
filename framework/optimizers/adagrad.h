#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/optimizers/single_op_optimizer.h"

namespace cohort::optimizers {

struct AdagradOptions {
  // What the sums of squares begin with.
  double initial_accumulator_value = 0.1;
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
  std::string name = "adagrad";
};
COHORT_FIELDS(AdagradOptions, initial_accumulator_value, epsilon)

class AdagradOptimizer : public SingleOpOptimizer {
 public:
  explicit AdagradOptimizer(LearningRate learning_rate = 0.001, AdagradOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;

 protected:
  void make_slots(const Variables& variables) override;
  UpdateOp update_op() const override;

 private:
  AdagradOptions options_;
};

// Adagrad: steps divided by the root of the sum of all squared gradients so far.
//   learning_rate: step size, a number or a schedule.
struct Adagrad : Optimizer::Handle<AdagradOptimizer> {
  explicit Adagrad(LearningRate learning_rate = 0.001, AdagradOptions options = {});
};

}  // namespace cohort::optimizers
