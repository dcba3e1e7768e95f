#include "cohort/losses/log_cosh.h"

#include <numbers>

#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::losses {

Tensor log_cosh(const Tensor& y_true, const Tensor& y_pred) {
  const auto [labels, predictions] = squeeze_or_expand_to_same_rank(y_true, y_pred);
  const Tensor error = predictions - labels;
  // cosh overflows early; this form does not.
  return ops::mean(error + ops::softplus(error * -2.0) - std::numbers::ln2, -1);
}

LogCoshLoss::LogCoshLoss(LossOptions options)
    : Loss(options.name.empty() ? "log_cosh" : options.name, options.reduction) {}

Tensor LogCoshLoss::call(const Tensor& y_true, const Tensor& y_pred) { return log_cosh(y_true, y_pred); }

COHORT_REGISTER(Loss, LogCoshLoss, "LogCosh", "log_cosh", "logcosh");

LogCosh::LogCosh(LossOptions options) : Handle(std::make_shared<LogCoshLoss>(std::move(options))) {}

}  // namespace cohort::losses
