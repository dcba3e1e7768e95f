#pragma once

#include "cohort/losses/loss.h"

namespace cohort::losses {

struct CategoricalGeneralizedCrossEntropyOptions {
  // Between 0 and 1: towards 0 like the cross-entropy, towards 1 like the absolute error.
  double q = 0.5;
  std::string reduction = "sum_over_batch_size";
  std::string name = "categorical_generalized_cross_entropy";
};

// The values of CategoricalGeneralizedCrossEntropy before the reduction: y_true class indices (batch, ...), y_pred
// probabilities (batch, ..., classes); a value for each (batch, ...).
//   q: in (0, 1): towards 0 like the cross-entropy, towards 1 like the absolute error.
Tensor categorical_generalized_cross_entropy(const Tensor& y_true, const Tensor& y_pred, double q);

class CategoricalGeneralizedCrossEntropyLoss : public Loss {
 public:
  explicit CategoricalGeneralizedCrossEntropyLoss(CategoricalGeneralizedCrossEntropyOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;

 protected:
  bool labels_are_classes() const override { return true; }

 private:
  double q_;
};

// (1 - p^q) / q for the probability p of the right class: noisy labels move it less than the cross-entropy.
// y_true class indices (batch, ...), y_pred probabilities (batch, ..., classes); a value for each (batch, ...), then
// the reduction.
struct CategoricalGeneralizedCrossEntropy : Loss::Handle<CategoricalGeneralizedCrossEntropyLoss> {
  explicit CategoricalGeneralizedCrossEntropy(CategoricalGeneralizedCrossEntropyOptions options = {});
};

}  // namespace cohort::losses
