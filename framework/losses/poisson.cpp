#include "cohort/losses/poisson.h"

#include "cohort/ops/epsilon.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::losses {
Tensor poisson(const Tensor& y_true, const Tensor& y_pred) {
  return ops::mean(y_pred - y_true * ops::log(y_pred + kEpsilon), -1);
}

PoissonLoss::PoissonLoss(LossOptions options)
    : Loss(options.name.empty() ? "poisson" : options.name, options.reduction) {}

Tensor PoissonLoss::call(const Tensor& y_true, const Tensor& y_pred) {
  const auto [labels, predictions] = squeeze_or_expand_to_same_rank(y_true, y_pred);
  return poisson(labels, predictions);
}

COHORT_REGISTER(Loss, PoissonLoss, "Poisson", "poisson");

Poisson::Poisson(LossOptions options) : Handle(std::make_shared<PoissonLoss>(std::move(options))) {}

}  // namespace cohort::losses
