#pragma once

#include "cohort/losses/loss.h"

namespace cohort::losses {

// The values of KLDivergence before the reduction: y_true and y_pred (batch, ..., classes) of probabilities; a value
// for each (batch, ...).
Tensor kl_divergence(const Tensor& y_true, const Tensor& y_pred);

class KLDivergenceLoss : public Loss {
 public:
  explicit KLDivergenceLoss(LossOptions options = {});
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;
};

// Kullback-Leibler divergence sum(y_true * log(y_true / y_pred)) over the last axis, of two distributions.
// y_true and y_pred (batch, ..., classes) of probabilities; a value for each (batch, ...), then the reduction.
struct KLDivergence : Loss::Handle<KLDivergenceLoss> {
  explicit KLDivergence(LossOptions options = {});
};

}  // namespace cohort::losses
