#pragma once

#include "cohort/losses/loss.h"

namespace cohort::losses {

struct CTCOptions {
  std::string reduction = "sum_over_batch_size";
  std::string name = "ctc";
};

// The values of CTC before the reduction: y_true class indices (batch, length), y_pred logits (batch, steps, classes);
// values (batch).
Tensor ctc(const Tensor& y_true, const Tensor& y_pred);

class CTCLoss : public Loss {
 public:
  explicit CTCLoss(CTCOptions options = {});
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;

 protected:
  bool labels_are_classes() const override { return true; }
};

// Connectionist temporal classification: -log of the probability that the steps spell the labels, aligned in any way.
// Class 0 is the blank and pads shorter labels.
// y_true class indices (batch, length), y_pred logits (batch, steps, classes); a value for each sample, then the
// reduction.
struct CTC : Loss::Handle<CTCLoss> {
  explicit CTC(CTCOptions options = {});
};

}  // namespace cohort::losses
