#include "cohort/losses/huber.h"

#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::losses {

Tensor huber(const Tensor& y_true, const Tensor& y_pred, double delta) {
  const auto [labels, predictions] = squeeze_or_expand_to_same_rank(y_true, y_pred);
  const Tensor error = predictions - labels;
  const Tensor size = ops::abs(error);
  const Tensor parabola = ops::square(error) * 0.5, line = size * delta - 0.5 * delta * delta;
  return ops::mean(ops::where(size <= delta, parabola, line), -1);
}

HuberLoss::HuberLoss(HuberOptions options) : Loss(options.name, options.reduction), delta_(options.delta) {}

void HuberLoss::visit_fields(FieldVisitor& visitor) {
  Loss::visit_fields(visitor);
  visitor.field("delta", delta_);
}

Tensor HuberLoss::call(const Tensor& y_true, const Tensor& y_pred) { return huber(y_true, y_pred, delta_); }

COHORT_REGISTER(Loss, HuberLoss, "Huber", "huber");

}  // namespace cohort::losses
