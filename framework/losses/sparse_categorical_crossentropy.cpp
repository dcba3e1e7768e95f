#include "cohort/losses/sparse_categorical_crossentropy.h"

#include "cohort/core/masks.h"
#include "cohort/losses/logits.h"
#include "cohort/ops/array.h"
#include "cohort/ops/epsilon.h"
#include "cohort/ops/math.h"
#include "cohort/ops/nn.h"

namespace cohort::losses {
namespace {

constexpr const char* kSparseCategoricalCrossentropy = "sparse_categorical_crossentropy";

// Values and the mask of those whose class is not ignored (undefined when none is).
std::pair<Tensor, Tensor> crossentropy(Tensor labels, Tensor predictions, bool from_logits,
                                       std::optional<std::int64_t> ignore_class, int axis) {
  if (normalize_axis(axis, predictions.rank(), kSparseCategoricalCrossentropy) != predictions.rank() - 1) {
    throw invalid_argument(kSparseCategoricalCrossentropy, "the classes must be the last axis", {{"axis", axis}},
                           "Move that axis to the end.");
  }
  if (labels.rank() == predictions.rank() && labels.shape().back() == 1) labels = ops::squeeze(labels, {-1});
  if (!labels.shape().compatible(predictions.shape().slice(0, predictions.rank() - 1))) {
    throw invalid_argument(kSparseCategoricalCrossentropy, "y_true must have the shape of y_pred without its last axis",
                           {{"y_true.shape", labels.shape()}, {"y_pred.shape", predictions.shape()}},
                           "Use categorical_crossentropy for one-hot labels.");
  }
  if (!is_integer(labels.dtype()) || labels.dtype() == DType::UInt8 || labels.dtype() == DType::Int8) {
    labels = ops::cast(labels, DType::Int64);
  }
  // As in Keras: with an ignored class y_pred is taken as it is, and the logits behind it stay unknown.
  const MaybeLogits output = ignore_class ? MaybeLogits{predictions, from_logits}
                                          : maybe_logits(predictions, from_logits, kSparseCategoricalCrossentropy);
  predictions = output.values;
  Tensor valid;
  if (ignore_class) {
    valid = ops::not_equal(labels, static_cast<double>(*ignore_class));
    labels = ops::where(valid, labels, 0.0);
    predictions = ops::where(ops::expand_dims(valid, -1), predictions, 0.0);
  }
  if (!output.from_logits) predictions = ops::log(ops::clip(predictions, kEpsilon, 1.0 - kEpsilon));
  Tensor values = ops::sparse_softmax_cross_entropy(predictions, labels);
  if (valid.defined()) values = ops::where(valid, values, 0.0);
  return {values, valid};
}

}  // namespace

Tensor sparse_categorical_crossentropy(const Tensor& y_true, const Tensor& y_pred, bool from_logits,
                                       std::optional<std::int64_t> ignore_class, int axis) {
  const auto [values, valid] = crossentropy(y_true, y_pred, from_logits, ignore_class, axis);
  if (valid.defined()) set_mask(values, valid);  // a metric takes the weights of ignored classes away
  return values;
}

SparseCategoricalCrossentropyLoss::SparseCategoricalCrossentropyLoss(SparseCategoricalCrossentropyOptions options)
    : Loss(options.name, options.reduction), options_(std::move(options)) {}

void SparseCategoricalCrossentropyLoss::visit_fields(FieldVisitor& visitor) {
  Loss::visit_fields(visitor);
  visit_options(options_, visitor);
}

Tensor SparseCategoricalCrossentropyLoss::call(const Tensor& y_true, const Tensor& y_pred) {
  return call_masked(y_true, y_pred).first;
}

std::pair<Tensor, Tensor> SparseCategoricalCrossentropyLoss::call_masked(const Tensor& y_true, const Tensor& y_pred) {
  return crossentropy(y_true, y_pred, options_.from_logits, options_.ignore_class, options_.axis);
}

COHORT_REGISTER(Loss, SparseCategoricalCrossentropyLoss, "SparseCategoricalCrossentropy",
                "sparse_categorical_crossentropy");

}  // namespace cohort::losses
