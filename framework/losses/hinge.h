#pragma once

#include "cohort/losses/loss.h"

namespace cohort::losses {

// The values of Hinge before the reduction: y_true and y_pred (batch, ..., outputs), y_pred of scores; a value for each
// (batch, ...).
Tensor hinge(const Tensor& y_true, const Tensor& y_pred);

// Labels 0 and 1 as -1 and 1; others as they are.
Tensor signed_labels(const Tensor& y_true);

class HingeLoss : public Loss {
 public:
  explicit HingeLoss(LossOptions options = {});
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;
};

// Mean of max(0, 1 - y_true * y_pred) over the last axis; labels are -1 and 1, or 0 and 1.
// y_true and y_pred (batch, ..., outputs), y_pred of scores; a value for each (batch, ...), then the reduction.
struct Hinge : Loss::Handle<HingeLoss> {
  explicit Hinge(LossOptions options = {});
};

}  // namespace cohort::losses
