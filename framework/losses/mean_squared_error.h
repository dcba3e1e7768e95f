#pragma once

#include "cohort/losses/loss.h"

namespace cohort::losses {

// mean((y_true - y_pred)^2) over the last axis.
Tensor mean_squared_error(const Tensor& y_true, const Tensor& y_pred);

class MeanSquaredErrorLoss : public Loss {
 public:
  explicit MeanSquaredErrorLoss(LossOptions options = {});
  std::string class_name() const override { return "MeanSquaredError"; }
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;
};

struct MeanSquaredError : Loss::Handle<MeanSquaredErrorLoss> {
  explicit MeanSquaredError(LossOptions options = {})
      : Handle(std::make_shared<MeanSquaredErrorLoss>(std::move(options))) {}
};

}  // namespace cohort::losses
