#pragma once

#include "cohort/losses/loss.h"

namespace cohort::losses {

struct CTCOptions {
  std::string reduction = "sum_over_batch_size";
  std::string name = "ctc";
};

// -log of the probability that logits y_pred (batch, steps, classes) spell the labels y_true (batch, length), aligned
// in any way: connectionist temporal classification. Class 0 is the blank and pads shorter labels.
Tensor ctc(const Tensor& y_true, const Tensor& y_pred);

class CTCLoss : public Loss {
 public:
  explicit CTCLoss(CTCOptions options = {});
  std::string class_name() const override { return "CTC"; }
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;

 protected:
  bool labels_are_classes() const override { return true; }
};

struct CTC : Loss::Handle<CTCLoss> {
  explicit CTC(CTCOptions options = {}) : Handle(std::make_shared<CTCLoss>(std::move(options))) {}
};

}  // namespace cohort::losses
