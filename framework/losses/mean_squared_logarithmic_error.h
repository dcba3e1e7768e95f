#pragma once

#include "cohort/losses/loss.h"

namespace cohort::losses {

// The values of MeanSquaredLogarithmicError before the reduction: y_true and y_pred (batch, ..., outputs); a value for
// each (batch, ...).
Tensor mean_squared_logarithmic_error(const Tensor& y_true, const Tensor& y_pred);

class MeanSquaredLogarithmicErrorLoss : public Loss {
 public:
  explicit MeanSquaredLogarithmicErrorLoss(LossOptions options = {});
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;
};

// Mean of (log(1 + y_true) - log(1 + y_pred))^2 over the last axis; negative numbers count as zero.
// y_true and y_pred (batch, ..., outputs); a value for each (batch, ...), then the reduction.
struct MeanSquaredLogarithmicError : Loss::Handle<MeanSquaredLogarithmicErrorLoss> {
  explicit MeanSquaredLogarithmicError(LossOptions options = {});
};

}  // namespace cohort::losses
