#pragma once

#include "cohort/losses/loss.h"

namespace cohort::losses {

struct BinaryCrossentropyOptions {
  bool from_logits = false;
  double label_smoothing = 0.0;
  // Axis over which the mean is taken.
  int axis = -1;
  std::string reduction = "sum_over_batch_size";
  std::string name = "binary_crossentropy";
};
COHORT_FIELDS(BinaryCrossentropyOptions, from_logits, label_smoothing, axis)

// The values of BinaryCrossentropy before the reduction: y_true and y_pred (batch, ..., outputs), of one shape; a value
// for each (batch, ...).
//   from_logits: whether y_pred are logits.
//   label_smoothing: draws the labels towards one half, in [0, 1].
//   axis: the axis of the mean.
Tensor binary_crossentropy(const Tensor& y_true, const Tensor& y_pred, bool from_logits = false,
                           double label_smoothing = 0.0, int axis = -1);

class BinaryCrossentropyLoss : public Loss {
 public:
  explicit BinaryCrossentropyLoss(BinaryCrossentropyOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  BinaryCrossentropyOptions options_;
};

// Cross-entropy of labels 0 and 1 and predicted probabilities, or logits: the mean over `axis` of -log(y_pred) where
// y_true is 1 and of -log(1 - y_pred) where it is 0.
// y_true and y_pred (batch, ..., outputs), of one shape; a value for each (batch, ...), then the reduction.
struct BinaryCrossentropy : Loss::Handle<BinaryCrossentropyLoss> {
  explicit BinaryCrossentropy(BinaryCrossentropyOptions options = {});
};

}  // namespace cohort::losses
