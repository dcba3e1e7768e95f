#include "cohort/losses/squared_hinge.h"

#include "cohort/losses/hinge.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::losses {

Tensor squared_hinge(const Tensor& y_true, const Tensor& y_pred) {
  return ops::mean(ops::square(ops::maximum(1.0 - signed_labels(y_true) * y_pred, 0.0)), -1);
}

SquaredHingeLoss::SquaredHingeLoss(LossOptions options)
    : Loss(options.name.empty() ? "squared_hinge" : options.name, options.reduction) {}

Tensor SquaredHingeLoss::call(const Tensor& y_true, const Tensor& y_pred) {
  const auto [labels, predictions] = squeeze_or_expand_to_same_rank(y_true, y_pred);
  return squared_hinge(labels, predictions);
}

COHORT_REGISTER(Loss, SquaredHingeLoss, "SquaredHinge", "squared_hinge");

SquaredHinge::SquaredHinge(LossOptions options) : Handle(std::make_shared<SquaredHingeLoss>(std::move(options))) {}

}  // namespace cohort::losses
