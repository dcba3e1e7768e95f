#pragma once

#include "cohort/losses/loss.h"

namespace cohort::losses {

struct CategoricalCrossentropyOptions {
  bool from_logits = false;
  double label_smoothing = 0.0;
  int axis = -1;
  std::string reduction = "sum_over_batch_size";
  std::string name = "categorical_crossentropy";
};
COHORT_FIELDS(CategoricalCrossentropyOptions, from_logits, label_smoothing, axis)

// The values of CategoricalCrossentropy before the reduction: y_true and y_pred (batch, ..., classes), of one shape; a
// value for each (batch, ...).
//   from_logits: whether y_pred are logits.
//   label_smoothing: draws the labels towards 1 / classes, in [0, 1].
//   axis: the axis of the classes.
Tensor categorical_crossentropy(const Tensor& y_true, const Tensor& y_pred, bool from_logits = false,
                                double label_smoothing = 0.0, int axis = -1);

class CategoricalCrossentropyLoss : public Loss {
 public:
  explicit CategoricalCrossentropyLoss(CategoricalCrossentropyOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  CategoricalCrossentropyOptions options_;
};

// Cross-entropy of one-hot labels, or distributions, and predicted probabilities, or logits: -sum(y_true * log(y_pred))
// over the classes. Probabilities are first scaled to sum to one.
// y_true and y_pred (batch, ..., classes), of one shape; a value for each (batch, ...), then the reduction.
struct CategoricalCrossentropy : Loss::Handle<CategoricalCrossentropyLoss> {
  explicit CategoricalCrossentropy(CategoricalCrossentropyOptions options = {});
};

}  // namespace cohort::losses
