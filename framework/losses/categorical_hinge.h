#pragma once

#include "cohort/losses/loss.h"

namespace cohort::losses {

// The values of CategoricalHinge before the reduction: y_true one-hot (batch, ..., classes), y_pred scores (batch, ...,
// classes); a value for each (batch, ...).
Tensor categorical_hinge(const Tensor& y_true, const Tensor& y_pred);

class CategoricalHingeLoss : public Loss {
 public:
  explicit CategoricalHingeLoss(LossOptions options = {});
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;
};

// max(0, 1 + the greatest score of a wrong class - the score of the right one).
// y_true one-hot (batch, ..., classes), y_pred scores (batch, ..., classes); a value for each (batch, ...), then the
// reduction.
struct CategoricalHinge : Loss::Handle<CategoricalHingeLoss> {
  explicit CategoricalHinge(LossOptions options = {});
};

}  // namespace cohort::losses
