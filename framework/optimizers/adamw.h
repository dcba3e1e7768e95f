#pragma once

#include "cohort/optimizers/adam.h"

namespace cohort::optimizers {

class AdamWOptimizer : public AdamOptimizer {
 public:
  AdamWOptimizer();
  AdamWOptimizer(LearningRate learning_rate, AdamOptions options);
  void fields_changed() override;
};

struct AdamWOptions {
  std::optional<double> weight_decay = 0.004;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  // Divide by the largest mean square seen so far in place of the current one.
  bool amsgrad = false;
  std::optional<double> clipnorm = std::nullopt;
  std::optional<double> clipvalue = std::nullopt;
  std::optional<double> global_clipnorm = std::nullopt;
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = std::nullopt;
  std::optional<double> loss_scale_factor = std::nullopt;
  std::optional<std::int64_t> gradient_accumulation_steps = std::nullopt;
  std::string name = "adam_w";
};

// Adam whose weights also shrink by `weight_decay * learning_rate` of themselves in every step.
//   learning_rate: step size, a number or a schedule.
struct AdamW : Optimizer::Handle<AdamWOptimizer> {
  explicit AdamW(LearningRate learning_rate = 0.001, AdamWOptions options = {});
};

}  // namespace cohort::optimizers
