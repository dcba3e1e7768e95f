#include "cohort/losses/kl_divergence.h"

#include "cohort/ops/epsilon.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::losses {
Tensor kl_divergence(const Tensor& y_true, const Tensor& y_pred) {
  const Tensor wanted = ops::clip(y_true, kEpsilon, 1.0), predicted = ops::clip(y_pred, kEpsilon, 1.0);
  return ops::sum(wanted * ops::log(wanted / predicted), -1);
}

KLDivergenceLoss::KLDivergenceLoss(LossOptions options)
    : Loss(options.name.empty() ? "kl_divergence" : options.name, options.reduction) {}

Tensor KLDivergenceLoss::call(const Tensor& y_true, const Tensor& y_pred) {
  const auto [labels, predictions] = squeeze_or_expand_to_same_rank(y_true, y_pred);
  return kl_divergence(labels, predictions);
}

COHORT_REGISTER(Loss, KLDivergenceLoss, "KLDivergence", "kl_divergence", "kld", "KLD");

KLDivergence::KLDivergence(LossOptions options) : Handle(std::make_shared<KLDivergenceLoss>(std::move(options))) {}

}  // namespace cohort::losses
