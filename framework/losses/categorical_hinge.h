#pragma once

#include "cohort/losses/loss.h"

namespace cohort::losses {

// max(0, 1 + the best wrong score - the right one), of one-hot labels.
Tensor categorical_hinge(const Tensor& y_true, const Tensor& y_pred);

class CategoricalHingeLoss : public Loss {
 public:
  explicit CategoricalHingeLoss(LossOptions options = {});
  std::string class_name() const override { return "CategoricalHinge"; }
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;
};

struct CategoricalHinge : Loss::Handle<CategoricalHingeLoss> {
  explicit CategoricalHinge(LossOptions options = {})
      : Handle(std::make_shared<CategoricalHingeLoss>(std::move(options))) {}
};

}  // namespace cohort::losses
