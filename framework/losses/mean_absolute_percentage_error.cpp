#include "cohort/losses/mean_absolute_percentage_error.h"

#include "cohort/ops/epsilon.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::losses {
Tensor mean_absolute_percentage_error(const Tensor& y_true, const Tensor& y_pred) {
  const auto [labels, predictions] = squeeze_or_expand_to_same_rank(y_true, y_pred);
  const Tensor share = ops::abs((labels - predictions) / ops::maximum(ops::abs(labels), kEpsilon));
  return ops::mean(share, -1) * 100.0;
}

MeanAbsolutePercentageErrorLoss::MeanAbsolutePercentageErrorLoss(LossOptions options)
    : Loss(options.name.empty() ? "mean_absolute_percentage_error" : options.name, options.reduction) {}

Tensor MeanAbsolutePercentageErrorLoss::call(const Tensor& y_true, const Tensor& y_pred) {
  return mean_absolute_percentage_error(y_true, y_pred);
}

COHORT_REGISTER(Loss, MeanAbsolutePercentageErrorLoss, "MeanAbsolutePercentageError", "mean_absolute_percentage_error",
                "mape", "MAPE");

MeanAbsolutePercentageError::MeanAbsolutePercentageError(LossOptions options)
    : Handle(std::make_shared<MeanAbsolutePercentageErrorLoss>(std::move(options))) {}

}  // namespace cohort::losses
