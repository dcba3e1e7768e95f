#include <cmath>
#include <numbers>

#include "cohort/model/activations.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/cumulative.h"
#include "cohort/ops/gelu.h"
#include "cohort/ops/joining.h"
#include "cohort/ops/math.h"
#include "cohort/ops/nn.h"
#include "cohort/ops/reduce.h"
#include "cohort/ops/sorting.h"

namespace cohort::activations {

Tensor linear(const Tensor& x) { return x; }

Tensor relu(const Tensor& x, double negative_slope, std::optional<double> max_value, double threshold) {
  if (negative_slope != 0.0 && !max_value && threshold == 0.0) return leaky_relu(x, negative_slope);
  Tensor y;
  bool clipped = !max_value.has_value();
  if (threshold != 0.0) {
    y = ops::where(x > threshold, x, 0.0);
  } else if (max_value == 6.0) {
    y = ops::relu6(x);
    clipped = true;
  } else {
    y = ops::relu(x);
  }
  if (!clipped) y = ops::clip(y, 0.0, *max_value);
  if (negative_slope == 0.0) return y;
  return y - ops::relu(threshold - x) * negative_slope;
}

Tensor relu6(const Tensor& x) { return ops::relu6(x); }

Tensor leaky_relu(const Tensor& x, double negative_slope) { return ops::where(x > 0.0, x, x * negative_slope); }

// The exponential only sees what is not positive: elsewhere its overflow would spoil the gradient.
Tensor elu(const Tensor& x, double alpha) {
  const Tensor below = ops::expm1(ops::minimum(x, 0.0));
  return ops::where(x > 0.0, x, alpha == 1.0 ? below : below * alpha);
}

Tensor selu(const Tensor& x) {
  constexpr double kAlpha = 1.6732632423543772848170429916717, kScale = 1.0507009873554804934193349852946;
  // Not elu: at zero, where the slopes differ, TensorFlow takes the upper one here.
  return ops::where(x < 0.0, ops::expm1(ops::minimum(x, 0.0)) * kAlpha, x) * kScale;
}

// A sum, not a choice: at zero both halves pass the flow on, as TensorFlow's do.
Tensor celu(const Tensor& x, double alpha) {
  return ops::maximum(x, 0.0) + ops::expm1(ops::minimum(x, 0.0) / alpha) * alpha;
}

Tensor gelu(const Tensor& x, bool approximate) {
  if (!approximate) return ops::gelu(x);
  const double scale = std::sqrt(2.0 / std::numbers::pi);
  return x * 0.5 * (ops::tanh((x + x * x * x * 0.044715) * scale) + 1.0);
}

Tensor silu(const Tensor& x) { return x * ops::sigmoid(x); }
Tensor mish(const Tensor& x) { return x * ops::tanh(ops::softplus(x)); }

Tensor glu(const Tensor& x, int axis) {
  if (const std::int64_t size = x.shape().dim(axis); size % 2 != 0) {
    throw invalid_argument("glu", "the axis must have an even size", {{"x.shape", x.shape()}, {"axis", axis}});
  }
  const Tensors halves = ops::split(x, 2, axis);
  return halves[0] * ops::sigmoid(halves[1]);
}

Tensor exponential(const Tensor& x) { return ops::exp(x); }
Tensor sigmoid(const Tensor& x) { return ops::sigmoid(x); }
Tensor log_sigmoid(const Tensor& x) { return -ops::softplus(-x); }
Tensor hard_sigmoid(const Tensor& x) { return ops::relu6(x + 3.0) / 6.0; }
Tensor hard_silu(const Tensor& x) { return x * hard_sigmoid(x); }

Tensor sparse_sigmoid(const Tensor& x) {
  return ops::where(x <= -1.0, 0.0, ops::where(x >= 1.0, 1.0, (x + 1.0) * 0.5));
}

Tensor tanh(const Tensor& x) { return ops::tanh(x); }
Tensor hard_tanh(const Tensor& x) { return ops::clip(x, -1.0, 1.0); }
Tensor softplus(const Tensor& x) { return ops::softplus(x); }
Tensor squareplus(const Tensor& x, double b) { return (x + ops::sqrt(ops::square(x) + b)) / 2.0; }

Tensor sparse_plus(const Tensor& x) {
  return ops::where(x <= -1.0, 0.0, ops::where(x < 1.0, ops::square(x + 1.0) * 0.25, x));
}

Tensor softsign(const Tensor& x) { return x / (ops::abs(x) + 1.0); }
Tensor tanh_shrink(const Tensor& x) { return x - ops::tanh(x); }

Tensor soft_shrink(const Tensor& x, double threshold) {
  return ops::where(x > threshold, x - threshold, ops::where(x < -threshold, x + threshold, 0.0));
}

Tensor hard_shrink(const Tensor& x, double threshold) { return ops::where(ops::abs(x) > threshold, x, 0.0); }

Tensor threshold(const Tensor& x, double threshold, double default_value) {
  return ops::where(x > threshold, x, default_value);
}

Tensor softmax(const Tensor& x, int axis) { return ops::softmax(x, axis); }
Tensor log_softmax(const Tensor& x, int axis) { return ops::log_softmax(x, axis); }

Tensor sparsemax(const Tensor& x, int axis) {
  const Tensor sorted = ops::sort(x, axis, /*descending=*/true);
  const Tensor sums = ops::cumsum(sorted, axis), ranks = ops::cumsum(ops::ones_like(x), axis);
  const Tensor support = sorted - (sums - 1.0) / ranks > 0.0;
  const Tensor count = ops::sum(ops::cast(support, x.dtype()), axis, ops::keep_dims);
  // Keras sums the running sums over the support; its numbers are the ones to match.
  const Tensor cut = (ops::sum(ops::where(support, sums, 0.0), axis, ops::keep_dims) - 1.0) / count;
  return ops::maximum(x - cut, 0.0);
}

}  // namespace cohort::activations
