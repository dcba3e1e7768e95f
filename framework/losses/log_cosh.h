#pragma once

#include "cohort/losses/loss.h"

namespace cohort::losses {

// mean(log(cosh(y_pred - y_true))) over the last axis.
Tensor log_cosh(const Tensor& y_true, const Tensor& y_pred);

class LogCoshLoss : public Loss {
 public:
  explicit LogCoshLoss(LossOptions options = {});
  std::string class_name() const override { return "LogCosh"; }
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;
};

struct LogCosh : Loss::Handle<LogCoshLoss> {
  explicit LogCosh(LossOptions options = {}) : Handle(std::make_shared<LogCoshLoss>(std::move(options))) {}
};

}  // namespace cohort::losses
