#pragma once

#include "cohort/losses/loss.h"
#include "cohort/ops/axes_codec.h"

namespace cohort::losses {

struct CosineSimilarityOptions {
  // Axis along which the vectors lie, or a list of several.
  ops::Axes axis = -1;
  std::string reduction = "sum_over_batch_size";
  std::string name = "cosine_similarity";
};
COHORT_FIELDS(CosineSimilarityOptions, axis)

// The values of CosineSimilarity before the reduction: y_true and y_pred (batch, ..., size); a value for each (batch,
// ...).
//   axis: the axis, or axes, along which the vectors lie.
Tensor cosine_similarity(const Tensor& y_true, const Tensor& y_pred, const ops::Axes& axis = -1);

class CosineSimilarityLoss : public Loss {
 public:
  explicit CosineSimilarityLoss(CosineSimilarityOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  CosineSimilarityOptions options_;
};

// Minus the cosine of the angle between labels and predictions: -1 where they point the same way, 1 where they are
// opposite.
// y_true and y_pred (batch, ..., size); a value for each (batch, ...), then the reduction.
struct CosineSimilarity : Loss::Handle<CosineSimilarityLoss> {
  explicit CosineSimilarity(CosineSimilarityOptions options = {});
};

}  // namespace cohort::losses
