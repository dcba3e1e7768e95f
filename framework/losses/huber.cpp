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

HuberLoss::HuberLoss(HuberOptions options) : Loss(options.name, options.reduction), options_(std::move(options)) {}

void HuberLoss::visit_fields(FieldVisitor& visitor) {
  Loss::visit_fields(visitor);
  visit_options(options_, visitor);
}

Tensor HuberLoss::call(const Tensor& y_true, const Tensor& y_pred) { return huber(y_true, y_pred, options_.delta); }

COHORT_REGISTER(Loss, HuberLoss, "Huber", "huber");

Huber::Huber(HuberOptions options) : Handle(std::make_shared<HuberLoss>(std::move(options))) {}

}  // namespace cohort::losses
