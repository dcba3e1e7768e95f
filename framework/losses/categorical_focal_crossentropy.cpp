#include "cohort/losses/categorical_focal_crossentropy.h"

#include "cohort/losses/shape_checks.h"
#include "cohort/ops/broadcast.h"
#include "cohort/ops/math.h"
#include "cohort/ops/nn.h"
#include "cohort/ops/reduce.h"

namespace cohort::losses {
namespace {

constexpr double kEpsilon = 1e-7;  // Keras's backend.epsilon()

}  // namespace

Tensor categorical_focal_crossentropy(const Tensor& y_true, const Tensor& y_pred, double alpha, double gamma,
                                      bool from_logits, double label_smoothing, int axis) {
  check_same_shape("categorical_focal_crossentropy", y_true, y_pred);
  Tensor target = ops::cast(y_true, y_pred.dtype());
  if (label_smoothing != 0.0) {
    // As in Keras, the last axis counts the classes here even when `axis` says otherwise.
    target = target * (1.0 - label_smoothing) + label_smoothing / ops::size_of(target, {-1}, target.dtype());
  }
  const Tensor chance = from_logits ? ops::softmax(y_pred, axis) : y_pred;
  const Tensor share = ops::clip(chance / ops::sum(chance, axis, ops::keep_dims), kEpsilon, 1.0 - kEpsilon);
  const Tensor weight = ops::pow(1.0 - share, gamma) * alpha;
  return ops::sum(weight * (-target * ops::log(share)), axis);
}

CategoricalFocalCrossentropyLoss::CategoricalFocalCrossentropyLoss(CategoricalFocalCrossentropyOptions options)
    : Loss(options.name, options.reduction), options_(std::move(options)) {}

void CategoricalFocalCrossentropyLoss::visit_fields(FieldVisitor& visitor) {
  Loss::visit_fields(visitor);
  visitor.field("from_logits", options_.from_logits);
  visitor.field("label_smoothing", options_.label_smoothing);
  visitor.field("axis", options_.axis);
  visitor.field("alpha", options_.alpha);
  visitor.field("gamma", options_.gamma);
}

Tensor CategoricalFocalCrossentropyLoss::call(const Tensor& y_true, const Tensor& y_pred) {
  const auto [labels, predictions] = squeeze_or_expand_to_same_rank(y_true, y_pred);
  return categorical_focal_crossentropy(labels, predictions, options_.alpha, options_.gamma, options_.from_logits,
                                        options_.label_smoothing, options_.axis);
}

namespace {

[[maybe_unused]] const bool registered = Loss::registry().add(
    "CategoricalFocalCrossentropy", [] { return std::make_shared<CategoricalFocalCrossentropyLoss>(); },
    {"categorical_focal_crossentropy"});

}  // namespace
}  // namespace cohort::losses
