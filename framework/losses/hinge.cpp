#include "cohort/losses/hinge.h"

#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::losses {

Tensor signed_labels(const Tensor& y_true) {
  const Tensor zero_or_one = ops::logical_or(ops::equal(y_true, 0.0), ops::equal(y_true, 1.0));
  return ops::where(ops::all(zero_or_one), y_true * 2.0 - 1.0, y_true);
}

Tensor hinge(const Tensor& y_true, const Tensor& y_pred) {
  return ops::mean(ops::maximum(1.0 - signed_labels(y_true) * y_pred, 0.0), -1);
}

HingeLoss::HingeLoss(LossOptions options) : Loss(options.name.empty() ? "hinge" : options.name, options.reduction) {}

Tensor HingeLoss::call(const Tensor& y_true, const Tensor& y_pred) {
  const auto [labels, predictions] = squeeze_or_expand_to_same_rank(y_true, y_pred);
  return hinge(labels, predictions);
}

COHORT_REGISTER(Loss, HingeLoss, "Hinge", "hinge");

Hinge::Hinge(LossOptions options) : Handle(std::make_shared<HingeLoss>(std::move(options))) {}

}  // namespace cohort::losses
