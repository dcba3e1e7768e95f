#include "cohort/losses/dice.h"

#include "cohort/losses/shape_checks.h"
#include "cohort/ops/epsilon.h"
#include "cohort/ops/math.h"

namespace cohort::losses {
Tensor dice(const Tensor& y_true, const Tensor& y_pred, const ops::Axes& axis) {
  check_same_shape("dice", y_true, y_pred);
  const Tensor target = ops::cast(y_true, y_pred.dtype());
  const Tensor both = ops::sum(target * y_pred, axis);
  return 1.0 - 2.0 * both / (ops::sum(target, axis) + ops::sum(y_pred, axis) + kEpsilon);
}

DiceLoss::DiceLoss(DiceOptions options) : Loss(options.name, options.reduction), options_(std::move(options)) {}

void DiceLoss::visit_fields(FieldVisitor& visitor) {
  Loss::visit_fields(visitor);
  visit_options(options_, visitor);
}

Tensor DiceLoss::call(const Tensor& y_true, const Tensor& y_pred) {
  const auto [labels, predictions] = squeeze_or_expand_to_same_rank(y_true, y_pred);
  return dice(labels, predictions, options_.axis ? ops::Axes(*options_.axis) : ops::Axes());
}

COHORT_REGISTER(Loss, DiceLoss, "Dice", "dice");

Dice::Dice(DiceOptions options) : Handle(std::make_shared<DiceLoss>(std::move(options))) {}

}  // namespace cohort::losses
