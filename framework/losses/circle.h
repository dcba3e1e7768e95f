#pragma once

#include "cohort/losses/loss.h"

namespace cohort::losses {

struct CircleOptions {
  double gamma = 80.0;
  double margin = 0.4;
  bool remove_diagonal = true;
  std::string reduction = "sum_over_batch_size";
  std::string name = "circle";
};

// The circle loss of a batch of embeddings y_pred (batch, size), each of length 1, with class numbers y_true (batch):
// pulls pairs of a class together and pushes others apart, the harder the further they are from where they should be.
// `remove_diagonal` leaves out the pair of a sample with itself.
Tensor circle(const Tensor& y_true, const Tensor& y_pred, const Tensor& ref_labels = {},
              const Tensor& ref_embeddings = {}, bool remove_diagonal = true, double gamma = 80.0, double margin = 0.4);

class CircleLoss : public Loss {
 public:
  explicit CircleLoss(CircleOptions options = {});
  std::string class_name() const override { return "Circle"; }
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;
  // Samples without a loss do not count in a mean.
  std::pair<Tensor, Tensor> call_masked(const Tensor& y_true, const Tensor& y_pred) override;

 protected:
  bool labels_are_classes() const override { return true; }

 private:
  CircleOptions options_;
};

struct Circle : Loss::Handle<CircleLoss> {
  explicit Circle(CircleOptions options = {}) : Handle(std::make_shared<CircleLoss>(std::move(options))) {}
};

}  // namespace cohort::losses
