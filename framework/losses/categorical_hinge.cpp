#include "cohort/losses/categorical_hinge.h"

#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::losses {

Tensor categorical_hinge(const Tensor& y_true, const Tensor& y_pred) {
  const Tensor right = ops::sum(y_true * y_pred, -1);
  const Tensor wrong = ops::max((1.0 - y_true) * y_pred, -1);
  return ops::maximum(wrong - right + 1.0, 0.0);
}

CategoricalHingeLoss::CategoricalHingeLoss(LossOptions options)
    : Loss(options.name.empty() ? "categorical_hinge" : options.name, options.reduction) {}

Tensor CategoricalHingeLoss::call(const Tensor& y_true, const Tensor& y_pred) {
  const auto [labels, predictions] = squeeze_or_expand_to_same_rank(y_true, y_pred);
  return categorical_hinge(labels, predictions);
}

COHORT_REGISTER(Loss, CategoricalHingeLoss, "CategoricalHinge", "categorical_hinge");

CategoricalHinge::CategoricalHinge(LossOptions options)
    : Handle(std::make_shared<CategoricalHingeLoss>(std::move(options))) {}

}  // namespace cohort::losses
