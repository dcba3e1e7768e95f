#pragma once

#include "cohort/losses/loss.h"

namespace cohort::losses {

struct BinaryFocalCrossentropyOptions {
  // Whether labels of 1 weigh alpha and labels of 0 weigh 1 - alpha.
  bool apply_class_balancing = false;
  // Weight of the label 1, in [0, 1]; without apply_class_balancing it is ignored.
  double alpha = 0.25;
  // Exponent of the focus: the greater, the less easy samples count; 0 is the plain cross-entropy.
  double gamma = 2.0;
  bool from_logits = false;
  double label_smoothing = 0.0;
  // Axis over which the mean is taken.
  int axis = -1;
  std::string reduction = "sum_over_batch_size";
  std::string name = "binary_focal_crossentropy";
};
COHORT_FIELDS(BinaryFocalCrossentropyOptions, from_logits, label_smoothing, axis, apply_class_balancing, alpha, gamma)

// The values of BinaryFocalCrossentropy before the reduction: y_true and y_pred (batch, ..., outputs), of one shape; a
// value for each (batch, ...).
//   apply_class_balancing: whether labels of 1 weigh alpha and labels of 0 weigh 1 - alpha.
//   alpha: weight of the label 1, in [0, 1].
//   gamma: exponent of the focus; 0 is the plain cross-entropy.
//   from_logits: whether y_pred are logits.
//   label_smoothing: draws the labels towards one half, in [0, 1].
//   axis: the axis of the mean.
Tensor binary_focal_crossentropy(const Tensor& y_true, const Tensor& y_pred, bool apply_class_balancing = false,
                                 double alpha = 0.25, double gamma = 2.0, bool from_logits = false,
                                 double label_smoothing = 0.0, int axis = -1);

class BinaryFocalCrossentropyLoss : public Loss {
 public:
  explicit BinaryFocalCrossentropyLoss(BinaryFocalCrossentropyOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  BinaryFocalCrossentropyOptions options_;
};

// Binary cross-entropy times (1 - p)^gamma, where p is the probability given to the right label, so that hard samples
// count more; the mean over `axis`.
// y_true and y_pred (batch, ..., outputs), of one shape; a value for each (batch, ...), then the reduction.
struct BinaryFocalCrossentropy : Loss::Handle<BinaryFocalCrossentropyLoss> {
  explicit BinaryFocalCrossentropy(BinaryFocalCrossentropyOptions options = {});
};

}  // namespace cohort::losses
