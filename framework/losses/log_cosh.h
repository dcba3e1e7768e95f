#pragma once

#include "cohort/losses/loss.h"

namespace cohort::losses {

// The values of LogCosh before the reduction: y_true and y_pred (batch, ..., outputs); a value for each (batch, ...).
Tensor log_cosh(const Tensor& y_true, const Tensor& y_pred);

class LogCoshLoss : public Loss {
 public:
  explicit LogCoshLoss(LossOptions options = {});
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;
};

// Mean of log(cosh(y_pred - y_true)) over the last axis: squared for small errors, linear for large ones.
// y_true and y_pred (batch, ..., outputs); a value for each (batch, ...), then the reduction.
struct LogCosh : Loss::Handle<LogCoshLoss> {
  explicit LogCosh(LossOptions options = {});
};

}  // namespace cohort::losses
