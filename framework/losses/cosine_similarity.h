#pragma once

#include "cohort/losses/loss.h"
#include "cohort/ops/reduce.h"

namespace cohort::losses {

struct CosineSimilarityOptions {
  ops::Axes axis = -1;  // one or several
  std::string reduction = "sum_over_batch_size";
  std::string name = "cosine_similarity";
};

// Minus the cosine of the angle between the two: -1 for vectors that point the same way.
Tensor cosine_similarity(const Tensor& y_true, const Tensor& y_pred, const ops::Axes& axis = -1);

class CosineSimilarityLoss : public Loss {
 public:
  explicit CosineSimilarityLoss(CosineSimilarityOptions options = {});
  std::string class_name() const override { return "CosineSimilarity"; }
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  ops::Axes axis_;
};

struct CosineSimilarity : Loss::Handle<CosineSimilarityLoss> {
  explicit CosineSimilarity(CosineSimilarityOptions options = {})
      : Handle(std::make_shared<CosineSimilarityLoss>(std::move(options))) {}
};

}  // namespace cohort::losses
