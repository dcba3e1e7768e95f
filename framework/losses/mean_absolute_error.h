#pragma once

#include "cohort/losses/loss.h"

namespace cohort::losses {

// mean(|y_true - y_pred|) over the last axis.
Tensor mean_absolute_error(const Tensor& y_true, const Tensor& y_pred);

class MeanAbsoluteErrorLoss : public Loss {
 public:
  explicit MeanAbsoluteErrorLoss(LossOptions options = {});
  std::string class_name() const override { return "MeanAbsoluteError"; }
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;
};

struct MeanAbsoluteError : Loss::Handle<MeanAbsoluteErrorLoss> {
  explicit MeanAbsoluteError(LossOptions options = {})
      : Handle(std::make_shared<MeanAbsoluteErrorLoss>(std::move(options))) {}
};

}  // namespace cohort::losses
