#pragma once

#include "cohort/losses/loss.h"

namespace cohort::losses {

// The values of Poisson before the reduction: y_true and y_pred (batch, ..., outputs); a value for each (batch, ...).
Tensor poisson(const Tensor& y_true, const Tensor& y_pred);

class PoissonLoss : public Loss {
 public:
  explicit PoissonLoss(LossOptions options = {});
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;
};

// Mean of y_pred - y_true * log(y_pred) over the last axis, for counts and predicted rates.
// y_true and y_pred (batch, ..., outputs); a value for each (batch, ...), then the reduction.
struct Poisson : Loss::Handle<PoissonLoss> {
  explicit Poisson(LossOptions options = {});
};

}  // namespace cohort::losses
