#pragma once

#include "cohort/losses/loss.h"

namespace cohort::losses {

// The values of SquaredHinge before the reduction: y_true and y_pred (batch, ..., outputs), y_pred of scores; a value
// for each (batch, ...).
Tensor squared_hinge(const Tensor& y_true, const Tensor& y_pred);

class SquaredHingeLoss : public Loss {
 public:
  explicit SquaredHingeLoss(LossOptions options = {});
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;
};

// Mean of max(0, 1 - y_true * y_pred)^2 over the last axis; labels are -1 and 1, or 0 and 1.
// y_true and y_pred (batch, ..., outputs), y_pred of scores; a value for each (batch, ...), then the reduction.
struct SquaredHinge : Loss::Handle<SquaredHingeLoss> {
  explicit SquaredHinge(LossOptions options = {});
};

}  // namespace cohort::losses
