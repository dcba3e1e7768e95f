#pragma once

#include "cohort/losses/loss.h"

namespace cohort::losses {

struct CircleOptions {
  // Scale of the distances: the greater, the more the hardest pairs dominate.
  double gamma = 80.0;
  // Wanted cosine distance within a class, and 1 - that of different classes: smaller is stricter.
  double margin = 0.4;
  // Whether the pair of a sample with itself is left out.
  bool remove_diagonal = true;
  std::string reduction = "sum_over_batch_size";
  std::string name = "circle";
};
COHORT_FIELDS(CircleOptions, gamma, margin, remove_diagonal)

// The values of Circle before the reduction: y_true class indices (batch) or (batch, 1), y_pred embeddings (batch,
// size), each of length 1; values (batch).
//   ref_labels: class indices (n) of the embeddings to compare with; undefined: y_true.
//   ref_embeddings: embeddings (n, size) to compare with; undefined: y_pred.
//   remove_diagonal: whether the pair of a sample with itself, at the same place in both batches, is left out.
//   gamma: scale of the distances.
//   margin: how strict the two distances are.
Tensor circle(const Tensor& y_true, const Tensor& y_pred, const Tensor& ref_labels = {},
              const Tensor& ref_embeddings = {}, bool remove_diagonal = true, double gamma = 80.0, double margin = 0.4);

class CircleLoss : public Loss {
 public:
  explicit CircleLoss(CircleOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;
  // Samples without a loss do not count in a mean.
  std::pair<Tensor, Tensor> call_masked(const Tensor& y_true, const Tensor& y_pred) override;

 protected:
  bool labels_are_classes() const override { return true; }

 private:
  CircleOptions options_;
};

// Circle loss of embeddings: pulls pairs of one class to a cosine distance below `margin` and pushes the others beyond
// 1 - margin, the harder the further they are from it.
// y_true class indices (batch) or (batch, 1), y_pred embeddings (batch, size), each of length 1; a value for each
// sample, then the reduction, in which samples without a loss do not count.
struct Circle : Loss::Handle<CircleLoss> {
  explicit Circle(CircleOptions options = {});
};

}  // namespace cohort::losses
