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

// -sum(y_true * log(y_pred)) over `axis`, the classes; y_true is one-hot or a distribution, y_pred probabilities (which
// are first made to sum to one), or logits when `from_logits`.
Tensor categorical_crossentropy(const Tensor& y_true, const Tensor& y_pred, bool from_logits = false,
                                double label_smoothing = 0.0, int axis = -1);

class CategoricalCrossentropyLoss : public Loss {
 public:
  explicit CategoricalCrossentropyLoss(CategoricalCrossentropyOptions options = {});
  std::string class_name() const override { return "CategoricalCrossentropy"; }
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  CategoricalCrossentropyOptions options_;
};

struct CategoricalCrossentropy : Loss::Handle<CategoricalCrossentropyLoss> {
  explicit CategoricalCrossentropy(CategoricalCrossentropyOptions options = {})
      : Handle(std::make_shared<CategoricalCrossentropyLoss>(std::move(options))) {}
};

}  // namespace cohort::losses
