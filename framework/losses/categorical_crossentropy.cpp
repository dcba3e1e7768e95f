#include "cohort/losses/categorical_crossentropy.h"

#include "cohort/core/dispatch.h"
#include "cohort/losses/logits.h"
#include "cohort/losses/shape_checks.h"
#include "cohort/ops/array.h"
#include "cohort/ops/epsilon.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::losses {
Tensor categorical_crossentropy(const Tensor& y_true, const Tensor& y_pred, bool from_logits, double label_smoothing,
                                int axis) {
  check_same_shape("categorical_crossentropy", y_true, y_pred);
  Tensor target = ops::cast(y_true, y_pred.dtype());
  if (label_smoothing != 0.0) {
    // As in Keras, the last axis counts the classes here even when `axis` says otherwise.
    target = target * (1.0 - label_smoothing) + label_smoothing / ops::size_of(target, {-1}, target.dtype());
  }
  const MaybeLogits output = maybe_logits(y_pred, from_logits, "categorical_crossentropy");
  if (output.from_logits) {
    const bool last = normalize_axis(axis, y_pred.rank(), "categorical_crossentropy") == y_pred.rank() - 1;
    const Tensor logits = last ? output.values : ops::moveaxis(output.values, axis, -1);
    // Like Keras's, the gradient does not ask whether the labels of a sample sum to one.
    return run_op("SoftmaxCrossEntropy", {logits, last ? target : ops::moveaxis(target, axis, -1)},
                  {{"assume_distribution", true}});
  }
  const Tensor share = y_pred / ops::sum(y_pred, axis, /*keep_dims=*/true);
  return -ops::sum(target * ops::log(ops::clip(share, kEpsilon, 1.0 - kEpsilon)), axis);
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

}  // namespace cohort::losses
