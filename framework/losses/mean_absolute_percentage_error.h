#pragma once

#include "cohort/losses/loss.h"

namespace cohort::losses {

// The values of MeanAbsolutePercentageError before the reduction: y_true and y_pred (batch, ..., outputs); a value for
// each (batch, ...).
Tensor mean_absolute_percentage_error(const Tensor& y_true, const Tensor& y_pred);

class MeanAbsolutePercentageErrorLoss : public Loss {
 public:
  explicit MeanAbsolutePercentageErrorLoss(LossOptions options = {});
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;
};

// 100 * the mean of |y_true - y_pred| / |y_true| over the last axis; the divisor is at least 1e-7.
// y_true and y_pred (batch, ..., outputs); a value for each (batch, ...), then the reduction.
struct MeanAbsolutePercentageError : Loss::Handle<MeanAbsolutePercentageErrorLoss> {
  explicit MeanAbsolutePercentageError(LossOptions options = {});
};

}  // namespace cohort::losses
