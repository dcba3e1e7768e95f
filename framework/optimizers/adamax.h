#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/optimizers/single_op_optimizer.h"

namespace cohort::optimizers {

struct AdamaxOptions {
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
  std::string name = "adamax";
};
COHORT_FIELDS(AdamaxOptions, beta_1, beta_2, epsilon)

class AdamaxOptimizer : public SingleOpOptimizer {
 public:
  explicit AdamaxOptimizer(LearningRate learning_rate = 0.001, AdamaxOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;

 protected:
  void make_slots(const Variables& variables) override;
  UpdateOp update_op() const override;
  // As in Keras, the norm of a row that several slices reach grows to the sum of their magnitudes.
  DenseGradient dense(const Gradient& gradient) const override { return with_magnitudes(gradient); }

 private:
  AdamaxOptions options_;
};

// Adam that divides by the largest recent gradient in place of the root mean square.
//   learning_rate: step size, a number or a schedule.
struct Adamax : Optimizer::Handle<AdamaxOptimizer> {
  explicit Adamax(LearningRate learning_rate = 0.001, AdamaxOptions options = {});
};

}  // namespace cohort::optimizers
