#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/optimizers/optimizer.h"

namespace cohort::optimizers {

struct AdafactorOptions {
  // Exponent of the step count from which the decay of the squares follows: 1 - step^beta_2_decay.
  double beta_2_decay = -0.8;
  // Added to squared gradients.
  double epsilon_1 = 1e-30;
  // Lower bound of a variable's root mean square, by which its step is scaled.
  double epsilon_2 = 0.001;
  // Root mean square above which a step is scaled down.
  double clip_threshold = 1.0;
  // Kept in the config alone: as in Keras the rate is at most 1 / sqrt(step) either way.
  bool relative_step = true;
  std::optional<double> weight_decay = std::nullopt;
  std::optional<double> clipnorm = std::nullopt;
  std::optional<double> clipvalue = std::nullopt;
  std::optional<double> global_clipnorm = std::nullopt;
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = std::nullopt;
  std::optional<double> loss_scale_factor = std::nullopt;
  std::optional<std::int64_t> gradient_accumulation_steps = std::nullopt;
  std::string name = "adafactor";
};
COHORT_FIELDS(AdafactorOptions, beta_2_decay, epsilon_1, epsilon_2, clip_threshold, relative_step)

class AdafactorOptimizer : public Optimizer {
 public:
  explicit AdafactorOptimizer(LearningRate learning_rate = 0.001, AdafactorOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void build(const Variables& variables) override;
  void update_step(const Gradient& gradient, const Variable& variable, const Tensor& learning_rate) override;
  bool needs_whole_variable() const override { return true; }

 protected:
  bool decays_in_update() const override { return true; }

 private:
  AdafactorOptions options_;
  struct Slots {
    Variable rows, columns, velocity;
  };
  std::vector<Slots> slots_;
};

// Adam that keeps only row and column means of the squared gradient of a matrix. It needs variables whole, not sharded.
//   learning_rate: step size, a number or a schedule; never more than 1 / sqrt(step) is used.
struct Adafactor : Optimizer::Handle<AdafactorOptimizer> {
  explicit Adafactor(LearningRate learning_rate = 0.001, AdafactorOptions options = {});
};

}  // namespace cohort::optimizers
