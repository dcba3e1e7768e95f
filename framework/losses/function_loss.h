#pragma once

#include <functional>

#include "cohort/losses/loss.h"

namespace cohort::losses {

// What a loss computes: a value per sample from labels and predictions.
using LossFunction = std::function<Tensor(const Tensor& y_true, const Tensor& y_pred)>;

// A loss made of a function, as Keras's class of that name. A file keeps its name only: a class of one's own, derived
// from Loss and registered, can be loaded again.
class LossFunctionWrapperLoss : public Loss {
 public:
  LossFunctionWrapperLoss(LossFunction function, LossOptions options = {});
  std::string class_name() const override { return "LossFunctionWrapper"; }
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  LossFunction function_;
};

struct LossFunctionWrapper : Loss::Handle<LossFunctionWrapperLoss> {
  explicit LossFunctionWrapper(LossFunction function, LossOptions options = {})
      : Handle(std::make_shared<LossFunctionWrapperLoss>(std::move(function), std::move(options))) {}
};

}  // namespace cohort::losses
