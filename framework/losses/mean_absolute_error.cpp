#include "cohort/losses/mean_absolute_error.h"

#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::losses {

Tensor mean_absolute_error(const Tensor& y_true, const Tensor& y_pred) {
  const auto [labels, predictions] = squeeze_or_expand_to_same_rank(y_true, y_pred);
  return ops::mean(ops::abs(labels - predictions), -1);
}

MeanAbsoluteErrorLoss::MeanAbsoluteErrorLoss(LossOptions options)
    : Loss(options.name.empty() ? "mean_absolute_error" : options.name, options.reduction) {}

Tensor MeanAbsoluteErrorLoss::call(const Tensor& y_true, const Tensor& y_pred) {
  return mean_absolute_error(y_true, y_pred);
}

COHORT_REGISTER(Loss, MeanAbsoluteErrorLoss, "MeanAbsoluteError", "mean_absolute_error", "mae", "MAE");

MeanAbsoluteError::MeanAbsoluteError(LossOptions options)
    : Handle(std::make_shared<MeanAbsoluteErrorLoss>(std::move(options))) {}

}  // namespace cohort::losses
