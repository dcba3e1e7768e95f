#include "cohort/losses/binary_crossentropy.h"

#include "cohort/losses/shape_checks.h"
#include "cohort/ops/crossentropy.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::losses {
Tensor binary_crossentropy(const Tensor& y_true, const Tensor& y_pred, bool from_logits, double label_smoothing,
                           int axis) {
  check_same_shape("binary_crossentropy", y_true, y_pred);
  Tensor target = ops::cast(y_true, y_pred.dtype());
  if (label_smoothing != 0.0) target = target * (1.0 - label_smoothing) + 0.5 * label_smoothing;
  return ops::mean(ops::binary_crossentropy(target, y_pred, from_logits), axis);
}

BinaryCrossentropyLoss::BinaryCrossentropyLoss(BinaryCrossentropyOptions options)
    : Loss(options.name, options.reduction), options_(std::move(options)) {}

void BinaryCrossentropyLoss::visit_fields(FieldVisitor& visitor) {
  Loss::visit_fields(visitor);
  visit_options(options_, visitor);
}

Tensor BinaryCrossentropyLoss::call(const Tensor& y_true, const Tensor& y_pred) {
  const auto [labels, predictions] = squeeze_or_expand_to_same_rank(y_true, y_pred);
  return binary_crossentropy(labels, predictions, options_.from_logits, options_.label_smoothing, options_.axis);
}

COHORT_REGISTER(Loss, BinaryCrossentropyLoss, "BinaryCrossentropy", "binary_crossentropy", "bce", "BCE");

BinaryCrossentropy::BinaryCrossentropy(BinaryCrossentropyOptions options)
    : Handle(std::make_shared<BinaryCrossentropyLoss>(std::move(options))) {}

}  // namespace cohort::losses
