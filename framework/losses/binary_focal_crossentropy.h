#pragma once

#include "cohort/losses/loss.h"

namespace cohort::losses {

struct BinaryFocalCrossentropyOptions {
  bool apply_class_balancing = false;
  double alpha = 0.25;
  double gamma = 2.0;
  bool from_logits = false;
  double label_smoothing = 0.0;
  int axis = -1;
  std::string reduction = "sum_over_batch_size";
  std::string name = "binary_focal_crossentropy";
};

// Mean over `axis` of the binary cross-entropy times (1 - p)^gamma, where p is the probability given to the right
// answer; with `apply_class_balancing` ones weigh alpha and zeros 1 - alpha.
Tensor binary_focal_crossentropy(const Tensor& y_true, const Tensor& y_pred, bool apply_class_balancing = false,
                                 double alpha = 0.25, double gamma = 2.0, bool from_logits = false,
                                 double label_smoothing = 0.0, int axis = -1);

class BinaryFocalCrossentropyLoss : public Loss {
 public:
  explicit BinaryFocalCrossentropyLoss(BinaryFocalCrossentropyOptions options = {});
  std::string class_name() const override { return "BinaryFocalCrossentropy"; }
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  BinaryFocalCrossentropyOptions options_;
};

struct BinaryFocalCrossentropy : Loss::Handle<BinaryFocalCrossentropyLoss> {
  explicit BinaryFocalCrossentropy(BinaryFocalCrossentropyOptions options = {})
      : Handle(std::make_shared<BinaryFocalCrossentropyLoss>(std::move(options))) {}
};

}  // namespace cohort::losses
