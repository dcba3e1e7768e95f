#pragma once

#include "cohort/losses/loss.h"

namespace cohort::losses {

// mean((log(1 + y_true) - log(1 + y_pred))^2) over the last axis; negative values count as zero.
Tensor mean_squared_logarithmic_error(const Tensor& y_true, const Tensor& y_pred);

class MeanSquaredLogarithmicErrorLoss : public Loss {
 public:
  explicit MeanSquaredLogarithmicErrorLoss(LossOptions options = {});
  std::string class_name() const override { return "MeanSquaredLogarithmicError"; }
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;
};

struct MeanSquaredLogarithmicError : Loss::Handle<MeanSquaredLogarithmicErrorLoss> {
  explicit MeanSquaredLogarithmicError(LossOptions options = {})
      : Handle(std::make_shared<MeanSquaredLogarithmicErrorLoss>(std::move(options))) {}
};

}  // namespace cohort::losses
