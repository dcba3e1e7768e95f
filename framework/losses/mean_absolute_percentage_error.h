#pragma once

#include "cohort/losses/loss.h"

namespace cohort::losses {

// 100 * mean(|y_true - y_pred| / |y_true|) over the last axis.
Tensor mean_absolute_percentage_error(const Tensor& y_true, const Tensor& y_pred);

class MeanAbsolutePercentageErrorLoss : public Loss {
 public:
  explicit MeanAbsolutePercentageErrorLoss(LossOptions options = {});
  std::string class_name() const override { return "MeanAbsolutePercentageError"; }
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;
};

struct MeanAbsolutePercentageError : Loss::Handle<MeanAbsolutePercentageErrorLoss> {
  explicit MeanAbsolutePercentageError(LossOptions options = {})
      : Handle(std::make_shared<MeanAbsolutePercentageErrorLoss>(std::move(options))) {}
};

}  // namespace cohort::losses
