#pragma once

#include <functional>

#include "cohort/losses/loss.h"

namespace cohort::losses {

// What a loss computes: a value per sample from labels and predictions.
using LossFunction = std::function<Tensor(const Tensor& y_true, const Tensor& y_pred)>;

class LossFunctionWrapperLoss : public Loss {
 public:
  LossFunctionWrapperLoss(LossFunction function, LossOptions options = {});
  std::string class_name() const override { return "LossFunctionWrapper"; }
  std::string module_name() const override { return kModule; }
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  LossFunction function_;
};

// A loss made of a function of labels and predictions. A file keeps its name only: derive a class from Loss and
// register it to load it again.
// y_true and y_pred of any shape that the function takes; its values, then the reduction.
//   function: gives the values from y_true and y_pred.
struct LossFunctionWrapper : Loss::Handle<LossFunctionWrapperLoss> {
  explicit LossFunctionWrapper(LossFunction function, LossOptions options = {});
};

}  // namespace cohort::losses
