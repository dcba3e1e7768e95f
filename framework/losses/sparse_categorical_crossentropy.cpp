#include "cohort/losses/sparse_categorical_crossentropy.h"

#include "cohort/core/masks.h"
#include "cohort/ops/array.h"
#include "cohort/ops/crossentropy.h"
#include "cohort/ops/math.h"

namespace cohort::losses {
namespace {

// Values and the mask of those whose class is not ignored (undefined when none is).
std::pair<Tensor, Tensor> crossentropy(const Tensor& y_true, const Tensor& y_pred, bool from_logits,
                                       std::optional<std::int64_t> ignore_class, int axis) {
  Tensor labels = y_true;
  if (labels.rank() == y_pred.rank() && labels.shape().back() == 1) labels = ops::squeeze(labels, {-1});
  const bool fits = labels.shape().compatible(y_pred.shape().slice(0, y_pred.rank() - 1));
  if (!ignore_class || !fits) {  // the op says what does not fit
    return {ops::sparse_categorical_crossentropy(labels, y_pred, from_logits, axis), Tensor()};
  }
  // A type of 8 bits may not hold the ignored class.
  if (labels.dtype() != DType::Int32) labels = ops::cast(labels, DType::Int64);
  const Tensor valid = ops::not_equal(labels, static_cast<double>(*ignore_class));
  // As in Keras, the logits behind y_pred stay unknown: what is chosen from it comes out of no softmax.
  const Tensor predictions = ops::where(ops::expand_dims(valid, -1), y_pred, 0.0);
  const Tensor values =
      ops::sparse_categorical_crossentropy(ops::where(valid, labels, 0.0), predictions, from_logits, axis);
  return {ops::where(valid, values, 0.0), valid};
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

SparseCategoricalCrossentropy::SparseCategoricalCrossentropy(SparseCategoricalCrossentropyOptions options)
    : Handle(std::make_shared<SparseCategoricalCrossentropyLoss>(std::move(options))) {}

}  // namespace cohort::losses
