#pragma once

#include "cohort/losses/loss.h"

namespace cohort::losses {

// The values of MeanSquaredError before the reduction: y_true and y_pred (batch, ..., outputs); a value for each
// (batch, ...).
Tensor mean_squared_error(const Tensor& y_true, const Tensor& y_pred);

class MeanSquaredErrorLoss : public Loss {
 public:
  explicit MeanSquaredErrorLoss(LossOptions options = {});
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;
};

// Mean of (y_true - y_pred)^2 over the last axis.
// y_true and y_pred (batch, ..., outputs); a value for each (batch, ...), then the reduction.
struct MeanSquaredError : Loss::Handle<MeanSquaredErrorLoss> {
  explicit MeanSquaredError(LossOptions options = {});
};

}  // namespace cohort::losses
