#include "cohort/losses/function_loss.h"

#include "cohort/core/text.h"

namespace cohort::losses {

LossFunctionWrapperLoss::LossFunctionWrapperLoss(LossFunction function, LossOptions options)
    : Loss(options.name.empty() ? "loss_function_wrapper" : options.name, options.reduction),
      function_(std::move(function)) {
  if (!function_) throw invalid_argument(titled("Loss", name_), "a function of y_true and y_pred is expected");
}

Tensor LossFunctionWrapperLoss::call(const Tensor& y_true, const Tensor& y_pred) {
  const auto [labels, predictions] = squeeze_or_expand_to_same_rank(y_true, y_pred);
  return function_(labels, predictions);
}

LossFunctionWrapper::LossFunctionWrapper(LossFunction function, LossOptions options)
    : Handle(std::make_shared<LossFunctionWrapperLoss>(std::move(function), std::move(options))) {}

}  // namespace cohort::losses
