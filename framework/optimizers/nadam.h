#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/optimizers/single_op_optimizer.h"

namespace cohort::optimizers {

struct NadamOptions {
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
  std::string name = "nadam";
};
COHORT_FIELDS(NadamOptions, beta_1, beta_2, epsilon)

class NadamOptimizer : public SingleOpOptimizer {
 public:
  explicit NadamOptimizer(LearningRate learning_rate = 0.001, NadamOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;

 protected:
  void make_slots(const Variables& variables) override;
  UpdateOp update_op() const override;
  void begin_update() override;

 private:
  NadamOptions options_;
  Variable u_product_;  // the product of all momentum factors so far
  Tensor product_;      // its value in the current update
};

// Adam that looks ahead along its momentum, as Nesterov does.
//   learning_rate: step size, a number or a schedule.
struct Nadam : Optimizer::Handle<NadamOptimizer> {
  explicit Nadam(LearningRate learning_rate = 0.001, NadamOptions options = {});
};

}  // namespace cohort::optimizers
