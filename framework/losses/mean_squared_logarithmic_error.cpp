#include "cohort/losses/mean_squared_logarithmic_error.h"

#include "cohort/ops/epsilon.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::losses {
Tensor mean_squared_logarithmic_error(const Tensor& y_true, const Tensor& y_pred) {
  const auto [labels, predictions] = squeeze_or_expand_to_same_rank(y_true, y_pred);
  const Tensor predicted = ops::log(ops::maximum(predictions, kEpsilon) + 1.0);
  const Tensor wanted = ops::log(ops::maximum(labels, kEpsilon) + 1.0);
  return ops::mean(ops::squared_difference(predicted, wanted), -1);
}

MeanSquaredLogarithmicErrorLoss::MeanSquaredLogarithmicErrorLoss(LossOptions options)
    : Loss(options.name.empty() ? "mean_squared_logarithmic_error" : options.name, options.reduction) {}

Tensor MeanSquaredLogarithmicErrorLoss::call(const Tensor& y_true, const Tensor& y_pred) {
  return mean_squared_logarithmic_error(y_true, y_pred);
}

COHORT_REGISTER(Loss, MeanSquaredLogarithmicErrorLoss, "MeanSquaredLogarithmicError", "mean_squared_logarithmic_error",
                "msle", "MSLE");

MeanSquaredLogarithmicError::MeanSquaredLogarithmicError(LossOptions options)
    : Handle(std::make_shared<MeanSquaredLogarithmicErrorLoss>(std::move(options))) {}

}  // namespace cohort::losses
