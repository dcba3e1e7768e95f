#include "cohort/losses/categorical_crossentropy.h"

#include "cohort/losses/shape_checks.h"
#include "cohort/ops/crossentropy.h"
#include "cohort/ops/math.h"

namespace cohort::losses {
Tensor categorical_crossentropy(const Tensor& y_true, const Tensor& y_pred, bool from_logits, double label_smoothing,
                                int axis) {
  check_same_shape("categorical_crossentropy", y_true, y_pred);
  Tensor target = ops::cast(y_true, y_pred.dtype());
  if (label_smoothing != 0.0) {
    // As in Keras, the last axis counts the classes here even when `axis` says otherwise.
    target = target * (1.0 - label_smoothing) + label_smoothing / ops::size_of(target, {-1}, target.dtype());
  }
  return ops::categorical_crossentropy(target, y_pred, from_logits, axis);
}

CategoricalCrossentropyLoss::CategoricalCrossentropyLoss(CategoricalCrossentropyOptions options)
    : Loss(options.name, options.reduction), options_(std::move(options)) {}

void CategoricalCrossentropyLoss::visit_fields(FieldVisitor& visitor) {
  Loss::visit_fields(visitor);
  visit_options(options_, visitor);
}

Tensor CategoricalCrossentropyLoss::call(const Tensor& y_true, const Tensor& y_pred) {
  const auto [labels, predictions] = squeeze_or_expand_to_same_rank(y_true, y_pred);
  return categorical_crossentropy(labels, predictions, options_.from_logits, options_.label_smoothing, options_.axis);
}

COHORT_REGISTER(Loss, CategoricalCrossentropyLoss, "CategoricalCrossentropy", "categorical_crossentropy");

CategoricalCrossentropy::CategoricalCrossentropy(CategoricalCrossentropyOptions options)
    : Handle(std::make_shared<CategoricalCrossentropyLoss>(std::move(options))) {}

}  // namespace cohort::losses
