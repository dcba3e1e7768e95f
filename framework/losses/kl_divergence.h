#pragma once

#include "cohort/losses/loss.h"

namespace cohort::losses {

// sum(y_true * log(y_true / y_pred)) over the last axis, of distributions.
Tensor kl_divergence(const Tensor& y_true, const Tensor& y_pred);

class KLDivergenceLoss : public Loss {
 public:
  explicit KLDivergenceLoss(LossOptions options = {});
  std::string class_name() const override { return "KLDivergence"; }
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;
};

struct KLDivergence : Loss::Handle<KLDivergenceLoss> {
  explicit KLDivergence(LossOptions options = {}) : Handle(std::make_shared<KLDivergenceLoss>(std::move(options))) {}
};

}  // namespace cohort::losses
