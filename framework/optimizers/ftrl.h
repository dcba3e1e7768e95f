#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/optimizers/single_op_optimizer.h"

namespace cohort::optimizers {

struct FtrlOptions {
  // Power of the accumulated squares the rate falls with, at most 0; 0 for a constant rate.
  double learning_rate_power = -0.5;
  // What the sums of squares begin with, at least 0.
  double initial_accumulator_value = 0.1;
  // Weight of the L1 penalty, at least 0; above 0 some weights become exactly zero.
  double l1_regularization_strength = 0.0;
  // Weight of the L2 penalty, at least 0.
  double l2_regularization_strength = 0.0;
  // Weight of an L2 penalty that is added to the gradient, at least 0.
  double l2_shrinkage_regularization_strength = 0.0;
  // Added to the L2 penalty as beta / (2 * learning_rate).
  double beta = 0.0;
  std::optional<double> weight_decay = std::nullopt;
  std::optional<double> clipnorm = std::nullopt;
  std::optional<double> clipvalue = std::nullopt;
  std::optional<double> global_clipnorm = std::nullopt;
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = std::nullopt;
  std::optional<double> loss_scale_factor = std::nullopt;
  std::optional<std::int64_t> gradient_accumulation_steps = std::nullopt;
  std::string name = "ftrl";
};
COHORT_FIELDS(FtrlOptions, learning_rate_power, initial_accumulator_value, l1_regularization_strength,
              l2_regularization_strength, l2_shrinkage_regularization_strength, beta)

class FtrlOptimizer : public SingleOpOptimizer {
 public:
  explicit FtrlOptimizer(LearningRate learning_rate = 0.001, FtrlOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;

 protected:
  void make_slots(const Variables& variables) override;
  UpdateOp update_op() const override;

 private:
  void check() const;
  FtrlOptions options_;
};

// Follow the regularized leader: with an L1 penalty, weights that do not matter become exactly zero.
//   learning_rate: step size, a number or a schedule.
struct Ftrl : Optimizer::Handle<FtrlOptimizer> {
  explicit Ftrl(LearningRate learning_rate = 0.001, FtrlOptions options = {});
};

}  // namespace cohort::optimizers
