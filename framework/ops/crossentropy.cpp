#include "cohort/ops/crossentropy.h"

#include "cohort/core/dispatch.h"
#include "cohort/core/op.h"
#include "cohort/ops/array.h"
#include "cohort/ops/epsilon.h"
#include "cohort/ops/logits.h"
#include "cohort/ops/math.h"
#include "cohort/ops/nn.h"
#include "cohort/ops/reduce.h"

namespace cohort::ops {

Tensor binary_crossentropy(const Tensor& target, const Tensor& output, bool from_logits) {
  const Tensor wanted = cast(target, output.dtype());
  const MaybeLogits given = maybe_logits(output, from_logits, "binary_crossentropy");
  if (given.from_logits) return sigmoid_cross_entropy(given.values, wanted);
  const Tensor chance = clip(output, kEpsilon, 1.0 - kEpsilon);
  return -(wanted * log(chance) + (1.0 - wanted) * log(1.0 - chance));
}

Tensor categorical_crossentropy(const Tensor& target, const Tensor& output, bool from_logits, int axis) {
  const Tensor wanted = cast(target, output.dtype());
  const MaybeLogits given = maybe_logits(output, from_logits, "categorical_crossentropy");
  if (given.from_logits) {
    const bool last = normalize_axis(axis, output.rank(), "categorical_crossentropy") == output.rank() - 1;
    const Tensor logits = last ? given.values : moveaxis(given.values, axis, -1);
    // Like Keras's, the gradient does not ask whether the labels of a sample sum to one.
    return run_op("SoftmaxCrossEntropy", {logits, last ? wanted : moveaxis(wanted, axis, -1)},
                  {{"assume_distribution", true}});
  }
  const Tensor share = output / sum(output, axis, keep_dims);
  return -sum(wanted * log(clip(share, kEpsilon, 1.0 - kEpsilon)), axis);
}

Tensor sparse_categorical_crossentropy(const Tensor& target, const Tensor& output, bool from_logits, int axis) {
  constexpr const char* who = "sparse_categorical_crossentropy";
  if (normalize_axis(axis, output.rank(), who) != output.rank() - 1) {
    throw invalid_argument(who, "the classes must be the last axis", {{"axis", axis}}, "Move that axis to the end.");
  }
  Tensor labels = target;
  if (labels.rank() == output.rank() && labels.shape().back() == 1) labels = squeeze(labels, {-1});
  if (!labels.shape().compatible(output.shape().slice(0, output.rank() - 1))) {
    throw invalid_argument(who, "y_true must have the shape of y_pred without its last axis",
                           {{"y_true.shape", labels.shape()}, {"y_pred.shape", output.shape()}},
                           "Use categorical_crossentropy for one-hot labels.");
  }
  if (labels.dtype() != DType::Int32) labels = cast(labels, DType::Int64);
  const MaybeLogits given = maybe_logits(output, from_logits, who);
  return sparse_softmax_cross_entropy(
      given.from_logits ? given.values : log(clip(given.values, kEpsilon, 1.0 - kEpsilon)), labels);
}

}  // namespace cohort::ops
