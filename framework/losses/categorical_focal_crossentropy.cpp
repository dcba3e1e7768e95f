#include "cohort/losses/categorical_focal_crossentropy.h"

#include "cohort/losses/shape_checks.h"
#include "cohort/ops/broadcast.h"
#include "cohort/ops/epsilon.h"
#include "cohort/ops/math.h"
#include "cohort/ops/nn.h"
#include "cohort/ops/reduce.h"

namespace cohort::losses {
namespace {

// The factors of classes lie along the last axis, as in Keras.
Tensor times(const Tensor& x, const ClassFactors& factors) {
  const auto count = static_cast<std::int64_t>(factors.values.size());
  if (count == 1) return x * factors.values[0];
  if (x.shape().back() != kUnknown && x.shape().back() != count) {
    throw invalid_argument("categorical_focal_crossentropy", "alpha must be one number or one for each class",
                           {{"alpha", count}, {"y_pred.shape", x.shape()}});
  }
  return x * ops::cast(Tensor::of(factors.values, {count}), x.dtype());
}

}  // namespace

Tensor categorical_focal_crossentropy(const Tensor& y_true, const Tensor& y_pred, const ClassFactors& alpha,
                                      double gamma, bool from_logits, double label_smoothing, int axis) {
  check_same_shape("categorical_focal_crossentropy", y_true, y_pred);
  Tensor target = ops::cast(y_true, y_pred.dtype());
  if (label_smoothing != 0.0) {
    // As in Keras, the last axis counts the classes here even when `axis` says otherwise.
    target = target * (1.0 - label_smoothing) + label_smoothing / ops::size_of(target, {-1}, target.dtype());
  }
  const Tensor chance = from_logits ? ops::softmax(y_pred, axis) : y_pred;
  const Tensor share = ops::clip(chance / ops::sum(chance, axis, ops::keep_dims), kEpsilon, 1.0 - kEpsilon);
  const Tensor focus = ops::pow(1.0 - share, gamma), weight = times(focus, alpha);
  return ops::sum(weight * (-target * ops::log(share)), axis);
}

CategoricalFocalCrossentropyLoss::CategoricalFocalCrossentropyLoss(CategoricalFocalCrossentropyOptions options)
    : Loss(options.name, options.reduction), options_(std::move(options)) {}

void CategoricalFocalCrossentropyLoss::visit_fields(FieldVisitor& visitor) {
  Loss::visit_fields(visitor);
  visit_options(options_, visitor);
}

Tensor CategoricalFocalCrossentropyLoss::call(const Tensor& y_true, const Tensor& y_pred) {
  const auto [labels, predictions] = squeeze_or_expand_to_same_rank(y_true, y_pred);
  return categorical_focal_crossentropy(labels, predictions, options_.alpha, options_.gamma, options_.from_logits,
                                        options_.label_smoothing, options_.axis);
}

COHORT_REGISTER(Loss, CategoricalFocalCrossentropyLoss, "CategoricalFocalCrossentropy",
                "categorical_focal_crossentropy");

CategoricalFocalCrossentropy::CategoricalFocalCrossentropy(CategoricalFocalCrossentropyOptions options)
    : Handle(std::make_shared<CategoricalFocalCrossentropyLoss>(std::move(options))) {}

}  // namespace cohort::losses
