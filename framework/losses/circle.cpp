#include "cohort/losses/circle.h"

#include <limits>

#include "cohort/ops/array.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/cumulative.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/reduce.h"

namespace cohort::losses {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();

// Class numbers (n) or (n, 1) as a column.
Tensor column(const Tensor& labels) {
  const Tensor numbers = ops::cast(labels, DType::Int32);
  return numbers.rank() == 1 ? ops::expand_dims(numbers, -1) : numbers;
}

// 0, 1, 2, ... down a column: positions in a batch whose size a trace does not know.
Tensor positions(const Tensor& column) { return ops::cumsum(ops::ones_like(column), 0); }

}  // namespace

Tensor circle(const Tensor& y_true, const Tensor& y_pred, const Tensor& ref_labels, const Tensor& ref_embeddings,
              bool remove_diagonal, double gamma, double margin) {
  if (y_pred.rank() != 2 || y_true.rank() < 1 || y_true.rank() > 2 ||
      (y_true.rank() == 2 && y_true.shape().back() != 1)) {
    throw invalid_argument("circle", "y_true must be class numbers (batch) and y_pred embeddings (batch, size)",
                           {{"y_true.shape", y_true.shape()}, {"y_pred.shape", y_pred.shape()}});
  }
  const Tensor others = ref_embeddings.defined() ? ref_embeddings : y_pred;
  const Tensor labels = column(y_true), other_labels = ref_labels.defined() ? column(ref_labels) : labels;
  const Tensor distance = ops::maximum(1.0 - ops::matmul(y_pred, others, false, /*transpose_b=*/true), 0.0);

  const Tensor same = ops::equal(labels, ops::transpose(other_labels)), different = ops::logical_not(same);
  Tensor positive = same;
  if (remove_diagonal) {
    positive = ops::logical_and(positive, ops::not_equal(positions(labels), ops::transpose(positions(other_labels))));
  }
  const auto weight = [&](const Tensor& shifted, const Tensor& mask) {
    return ops::maximum(shifted * ops::cast(mask, shifted.dtype()), 0.0);
  };
  const Tensor pull = -gamma * weight(margin + distance, positive) * (margin - distance);
  const Tensor push = gamma * weight((1.0 + margin) - distance, different) * ((1.0 - margin) - distance);
  return ops::softplus(ops::logsumexp(ops::where(positive, pull, kNone), 1) +
                       ops::logsumexp(ops::where(different, push, kNone), 1));
}

CircleLoss::CircleLoss(CircleOptions options) : Loss(options.name, options.reduction), options_(std::move(options)) {}

void CircleLoss::visit_fields(FieldVisitor& visitor) {
  Loss::visit_fields(visitor);
  visit_options(options_, visitor);
}

Tensor CircleLoss::call(const Tensor& y_true, const Tensor& y_pred) {
  return circle(y_true, y_pred, {}, {}, options_.remove_diagonal, options_.gamma, options_.margin);
}

std::pair<Tensor, Tensor> CircleLoss::call_masked(const Tensor& y_true, const Tensor& y_pred) {
  const Tensor values = call(y_true, y_pred);
  return {values, values > 0.0};
}

COHORT_REGISTER(Loss, CircleLoss, "Circle", "circle");

Circle::Circle(CircleOptions options) : Handle(std::make_shared<CircleLoss>(std::move(options))) {}

}  // namespace cohort::losses
