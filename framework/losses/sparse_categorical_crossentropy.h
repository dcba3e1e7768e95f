#pragma once

#include <cstdint>
#include <optional>

#include "cohort/losses/loss.h"

namespace cohort::losses {

struct SparseCategoricalCrossentropyOptions {
  bool from_logits = false;
  std::optional<std::int64_t> ignore_class = std::nullopt;
  std::string reduction = "sum_over_batch_size";
  // Axis of the classes in y_pred; must be the last.
  int axis = -1;
  std::string name = "sparse_categorical_crossentropy";
};
COHORT_FIELDS(SparseCategoricalCrossentropyOptions, from_logits, ignore_class, axis)

// The values of SparseCategoricalCrossentropy before the reduction: y_true class indices (batch, ...) or (batch, ...,
// 1), y_pred (batch, ..., classes); a value for each (batch, ...).
//   from_logits: whether y_pred are logits.
//   ignore_class: index of a class whose labels give 0 and a mask without them; none: all count.
//   axis: the axis of the classes, which must be the last.
Tensor sparse_categorical_crossentropy(const Tensor& y_true, const Tensor& y_pred, bool from_logits = false,
                                       std::optional<std::int64_t> ignore_class = std::nullopt, int axis = -1);

class SparseCategoricalCrossentropyLoss : public Loss {
 public:
  explicit SparseCategoricalCrossentropyLoss(SparseCategoricalCrossentropyOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;
  std::pair<Tensor, Tensor> call_masked(const Tensor& y_true, const Tensor& y_pred) override;

 protected:
  bool labels_are_classes() const override { return true; }

 private:
  SparseCategoricalCrossentropyOptions options_;
};

// Cross-entropy of class indices and predicted probabilities, or logits: -log of the probability of the right class.
// Probabilities are first scaled to sum to one; a label outside the classes is an error.
// y_true class indices (batch, ...) or (batch, ..., 1), y_pred (batch, ..., classes); a value for each (batch, ...),
// then the reduction.
struct SparseCategoricalCrossentropy : Loss::Handle<SparseCategoricalCrossentropyLoss> {
  explicit SparseCategoricalCrossentropy(SparseCategoricalCrossentropyOptions options = {});
};

}  // namespace cohort::losses
