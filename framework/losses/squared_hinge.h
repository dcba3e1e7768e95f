#pragma once

#include "cohort/losses/loss.h"

namespace cohort::losses {

// mean(max(0, 1 - y_true * y_pred)^2) over the last axis; labels are -1 and 1, or 0 and 1.
Tensor squared_hinge(const Tensor& y_true, const Tensor& y_pred);

class SquaredHingeLoss : public Loss {
 public:
  explicit SquaredHingeLoss(LossOptions options = {});
  std::string class_name() const override { return "SquaredHinge"; }
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;
};

struct SquaredHinge : Loss::Handle<SquaredHingeLoss> {
  explicit SquaredHinge(LossOptions options = {}) : Handle(std::make_shared<SquaredHingeLoss>(std::move(options))) {}
};

}  // namespace cohort::losses
