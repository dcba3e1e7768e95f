#pragma once

#include "cohort/losses/loss.h"

namespace cohort::losses {

// The values of MeanAbsoluteError before the reduction: y_true and y_pred (batch, ..., outputs); a value for each
// (batch, ...).
Tensor mean_absolute_error(const Tensor& y_true, const Tensor& y_pred);

class MeanAbsoluteErrorLoss : public Loss {
 public:
  explicit MeanAbsoluteErrorLoss(LossOptions options = {});
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;
};

// Mean of |y_true - y_pred| over the last axis.
// y_true and y_pred (batch, ..., outputs); a value for each (batch, ...), then the reduction.
struct MeanAbsoluteError : Loss::Handle<MeanAbsoluteErrorLoss> {
  explicit MeanAbsoluteError(LossOptions options = {});
};

}  // namespace cohort::losses
