#pragma once

#include "cohort/losses/loss.h"

namespace cohort::losses {

struct BinaryCrossentropyOptions {
  bool from_logits = false;
  double label_smoothing = 0.0;
  int axis = -1;
  std::string reduction = "sum_over_batch_size";
  std::string name = "binary_crossentropy";
};

// Mean over `axis` of -y_true * log(y_pred) - (1 - y_true) * log(1 - y_pred); y_pred are probabilities, or logits when
// `from_logits`.
Tensor binary_crossentropy(const Tensor& y_true, const Tensor& y_pred, bool from_logits = false,
                           double label_smoothing = 0.0, int axis = -1);

class BinaryCrossentropyLoss : public Loss {
 public:
  explicit BinaryCrossentropyLoss(BinaryCrossentropyOptions options = {});
  std::string class_name() const override { return "BinaryCrossentropy"; }
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  BinaryCrossentropyOptions options_;
};

struct BinaryCrossentropy : Loss::Handle<BinaryCrossentropyLoss> {
  explicit BinaryCrossentropy(BinaryCrossentropyOptions options = {})
      : Handle(std::make_shared<BinaryCrossentropyLoss>(std::move(options))) {}
};

}  // namespace cohort::losses
