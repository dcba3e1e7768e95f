#include "cohort/losses/mean_squared_error.h"

#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::losses {

Tensor mean_squared_error(const Tensor& y_true, const Tensor& y_pred) {
  const auto [labels, predictions] = squeeze_or_expand_to_same_rank(y_true, y_pred);
  return ops::mean(ops::squared_difference(labels, predictions), -1);
}

MeanSquaredErrorLoss::MeanSquaredErrorLoss(LossOptions options)
    : Loss(options.name.empty() ? "mean_squared_error" : options.name, options.reduction) {}

Tensor MeanSquaredErrorLoss::call(const Tensor& y_true, const Tensor& y_pred) {
  return mean_squared_error(y_true, y_pred);
}

COHORT_REGISTER(Loss, MeanSquaredErrorLoss, "MeanSquaredError", "mean_squared_error", "mse", "MSE");

MeanSquaredError::MeanSquaredError(LossOptions options)
    : Handle(std::make_shared<MeanSquaredErrorLoss>(std::move(options))) {}

}  // namespace cohort::losses
