#pragma once

#include "cohort/losses/loss.h"

namespace cohort::losses {

// mean(y_pred - y_true * log(y_pred)) over the last axis.
Tensor poisson(const Tensor& y_true, const Tensor& y_pred);

class PoissonLoss : public Loss {
 public:
  explicit PoissonLoss(LossOptions options = {});
  std::string class_name() const override { return "Poisson"; }
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;
};

struct Poisson : Loss::Handle<PoissonLoss> {
  explicit Poisson(LossOptions options = {}) : Handle(std::make_shared<PoissonLoss>(std::move(options))) {}
};

}  // namespace cohort::losses
