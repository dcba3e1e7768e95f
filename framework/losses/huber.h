#pragma once

#include "cohort/losses/loss.h"

namespace cohort::losses {

struct HuberOptions {
  // Error at which the square becomes a line.
  double delta = 1.0;
  std::string reduction = "sum_over_batch_size";
  std::string name = "huber_loss";
};
COHORT_FIELDS(HuberOptions, delta)

// The values of Huber before the reduction: y_true and y_pred (batch, ..., outputs); a value for each (batch, ...).
//   delta: the error at which the square becomes a line.
Tensor huber(const Tensor& y_true, const Tensor& y_pred, double delta = 1.0);

class HuberLoss : public Loss {
 public:
  explicit HuberLoss(HuberOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  HuberOptions options_;
};

// Mean over the last axis of error^2 / 2 for errors up to `delta`, and of delta * |error| - delta^2 / 2 beyond.
// y_true and y_pred (batch, ..., outputs); a value for each (batch, ...), then the reduction.
struct Huber : Loss::Handle<HuberLoss> {
  explicit Huber(HuberOptions options = {});
};

}  // namespace cohort::losses
