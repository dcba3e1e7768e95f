#include "cohort/ops/activations.h"

#include "cohort/ops/creation.h"
#include "cohort/ops/cumulative.h"
#include "cohort/ops/joining.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"
#include "cohort/ops/sorting.h"

namespace cohort::ops {

Tensor leaky_relu(const Tensor& x, double negative_slope) { return where(x > 0.0, x, x * negative_slope); }

// The exponential only sees what is not positive: elsewhere its overflow would spoil the gradient.
Tensor elu(const Tensor& x, double alpha) {
  const Tensor below = expm1(minimum(x, 0.0));
  return where(x > 0.0, x, alpha == 1.0 ? below : below * alpha);
}

Tensor selu(const Tensor& x) {
  constexpr double kAlpha = 1.6732632423543772848170429916717, kScale = 1.0507009873554804934193349852946;
  // Not elu: at zero, where the slopes differ, TensorFlow takes the upper one here.
  return where(x < 0.0, expm1(minimum(x, 0.0)) * kAlpha, x) * kScale;
}

// A sum, not a choice: at zero both halves pass the flow on, as TensorFlow's do.
Tensor celu(const Tensor& x, double alpha) { return maximum(x, 0.0) + expm1(minimum(x, 0.0) / alpha) * alpha; }

Tensor silu(const Tensor& x) { return x * sigmoid(x); }

Tensor glu(const Tensor& x, int axis) {
  if (const std::int64_t size = x.shape().dim(axis); size > 0 && size % 2 != 0) {
    throw invalid_argument("glu", "the axis must have an even size", {{"x.shape", x.shape()}, {"axis", axis}});
  }
  const Tensors halves = split(x, 2, axis);
  return halves[0] * sigmoid(halves[1]);
}

Tensor log_sigmoid(const Tensor& x) { return -softplus(-x); }

Tensor hard_sigmoid(const Tensor& x) { return relu6(x + 3.0) / 6.0; }

Tensor hard_silu(const Tensor& x) { return x * hard_sigmoid(x); }

Tensor sparse_sigmoid(const Tensor& x) { return where(x <= -1.0, 0.0, where(x >= 1.0, 1.0, (x + 1.0) * 0.5)); }

Tensor hard_tanh(const Tensor& x) { return clip(x, -1.0, 1.0); }

Tensor squareplus(const Tensor& x, double b) { return (x + sqrt(square(x) + b)) / 2.0; }

Tensor sparse_plus(const Tensor& x) { return where(x <= -1.0, 0.0, where(x < 1.0, square(x + 1.0) * 0.25, x)); }

Tensor softsign(const Tensor& x) { return x / (abs(x) + 1.0); }

Tensor tanh_shrink(const Tensor& x) { return x - tanh(x); }

Tensor soft_shrink(const Tensor& x, double threshold) {
  return where(x > threshold, x - threshold, where(x < -threshold, x + threshold, 0.0));
}

Tensor hard_shrink(const Tensor& x, double threshold) { return where(abs(x) > threshold, x, 0.0); }

Tensor threshold(const Tensor& x, double threshold, double default_value) {
  return where(x > threshold, x, default_value);
}

Tensor sparsemax(const Tensor& x, int axis) {
  const Tensor sorted = sort(x, axis, /*descending=*/true);
  const Tensor sums = cumsum(sorted, axis), ranks = cumsum(ones_like(x), axis);
  const Tensor support = sorted - (sums - 1.0) / ranks > 0.0;
  const Tensor count = sum(cast(support, x.dtype()), axis, keep_dims);
  // Keras sums the running sums over the support; its numbers are the ones to match.
  const Tensor cut = (sum(where(support, sums, 0.0), axis, keep_dims) - 1.0) / count;
  return maximum(x - cut, 0.0);
}

}  // namespace cohort::ops
