#include "cohort/losses/tversky.h"

#include "cohort/losses/shape_checks.h"
#include "cohort/ops/epsilon.h"
#include "cohort/ops/math.h"

namespace cohort::losses {
Tensor tversky(const Tensor& y_true, const Tensor& y_pred, double alpha, double beta, const ops::Axes& axis) {
  check_same_shape("tversky", y_true, y_pred);
  const Tensor target = ops::cast(y_true, y_pred.dtype());
  const Tensor both = ops::sum(target * y_pred, axis);
  const Tensor missing = ops::sum((1.0 - y_pred) * target, axis), surplus = ops::sum(y_pred * (1.0 - target), axis);
  return 1.0 - both / (both + missing * alpha + surplus * beta + kEpsilon);
}

TverskyLoss::TverskyLoss(TverskyOptions options)
    : Loss(options.name, options.reduction), options_(std::move(options)) {}

void TverskyLoss::visit_fields(FieldVisitor& visitor) {
  Loss::visit_fields(visitor);
  visit_options(options_, visitor);
}

Tensor TverskyLoss::call(const Tensor& y_true, const Tensor& y_pred) {
  const auto [labels, predictions] = squeeze_or_expand_to_same_rank(y_true, y_pred);
  return tversky(labels, predictions, options_.alpha, options_.beta,
                 options_.axis ? ops::Axes(*options_.axis) : ops::Axes());
}

COHORT_REGISTER(Loss, TverskyLoss, "Tversky", "tversky");

Tversky::Tversky(TverskyOptions options) : Handle(std::make_shared<TverskyLoss>(std::move(options))) {}

}  // namespace cohort::losses
