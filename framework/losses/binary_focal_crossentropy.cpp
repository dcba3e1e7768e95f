#include "cohort/losses/binary_focal_crossentropy.h"

#include "cohort/losses/shape_checks.h"
#include "cohort/ops/epsilon.h"
#include "cohort/ops/logits.h"
#include "cohort/ops/math.h"
#include "cohort/ops/nn.h"
#include "cohort/ops/reduce.h"

namespace cohort::losses {
Tensor binary_focal_crossentropy(const Tensor& y_true, const Tensor& y_pred, bool apply_class_balancing, double alpha,
                                 double gamma, bool from_logits, double label_smoothing, int axis) {
  check_same_shape("binary_focal_crossentropy", y_true, y_pred);
  Tensor target = ops::cast(y_true, y_pred.dtype());
  if (label_smoothing != 0.0) target = target * (1.0 - label_smoothing) + 0.5 * label_smoothing;
  const Tensor chance = from_logits ? ops::sigmoid(y_pred) : y_pred;
  // With from_logits the sigmoid is the loss's own: what went into it is known without asking.
  const MaybeLogits output =
      from_logits ? MaybeLogits{y_pred, true} : maybe_logits(y_pred, false, "binary_focal_crossentropy");
  Tensor entropy;
  if (output.from_logits) {
    entropy = ops::sigmoid_cross_entropy(output.values, target);
  } else {
    const Tensor clipped = ops::clip(chance, kEpsilon, 1.0 - kEpsilon);
    entropy = -(target * ops::log(clipped) + (1.0 - target) * ops::log(1.0 - clipped));
  }
  const Tensor right = target * chance + (1.0 - target) * (1.0 - chance);
  Tensor focal = ops::pow(1.0 - right, gamma) * entropy;
  if (apply_class_balancing) focal = (target * alpha + (1.0 - target) * (1.0 - alpha)) * focal;
  return ops::mean(focal, axis);
}

BinaryFocalCrossentropyLoss::BinaryFocalCrossentropyLoss(BinaryFocalCrossentropyOptions options)
    : Loss(options.name, options.reduction), options_(std::move(options)) {}

void BinaryFocalCrossentropyLoss::visit_fields(FieldVisitor& visitor) {
  Loss::visit_fields(visitor);
  visit_options(options_, visitor);
}

Tensor BinaryFocalCrossentropyLoss::call(const Tensor& y_true, const Tensor& y_pred) {
  const auto [labels, predictions] = squeeze_or_expand_to_same_rank(y_true, y_pred);
  return binary_focal_crossentropy(labels, predictions, options_.apply_class_balancing, options_.alpha, options_.gamma,
                                   options_.from_logits, options_.label_smoothing, options_.axis);
}

COHORT_REGISTER(Loss, BinaryFocalCrossentropyLoss, "BinaryFocalCrossentropy", "binary_focal_crossentropy");

BinaryFocalCrossentropy::BinaryFocalCrossentropy(BinaryFocalCrossentropyOptions options)
    : Handle(std::make_shared<BinaryFocalCrossentropyLoss>(std::move(options))) {}

}  // namespace cohort::losses
