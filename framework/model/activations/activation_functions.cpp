#include "cohort/model/activations.h"
#include "cohort/ops/activations.h"
#include "cohort/ops/gelu.h"
#include "cohort/ops/math.h"
#include "cohort/ops/nn.h"

namespace cohort::activations {

Tensor linear(const Tensor& x) { return x; }

Tensor relu(const Tensor& x, double negative_slope, std::optional<double> max_value, double threshold) {
  if (negative_slope != 0.0 && !max_value && threshold == 0.0) return ops::leaky_relu(x, negative_slope);
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

Tensor leaky_relu(const Tensor& x, double negative_slope) { return ops::leaky_relu(x, negative_slope); }

Tensor elu(const Tensor& x, double alpha) { return ops::elu(x, alpha); }

Tensor selu(const Tensor& x) { return ops::selu(x); }

Tensor celu(const Tensor& x, double alpha) { return ops::celu(x, alpha); }

Tensor gelu(const Tensor& x, bool approximate) { return ops::gelu(x, approximate); }

Tensor silu(const Tensor& x) { return ops::silu(x); }
Tensor mish(const Tensor& x) { return x * ops::tanh(ops::softplus(x)); }

Tensor glu(const Tensor& x, int axis) { return ops::glu(x, axis); }

Tensor exponential(const Tensor& x) { return ops::exp(x); }
Tensor sigmoid(const Tensor& x) { return ops::sigmoid(x); }
Tensor log_sigmoid(const Tensor& x) { return ops::log_sigmoid(x); }
Tensor hard_sigmoid(const Tensor& x) { return ops::hard_sigmoid(x); }
Tensor hard_silu(const Tensor& x) { return ops::hard_silu(x); }

Tensor sparse_sigmoid(const Tensor& x) { return ops::sparse_sigmoid(x); }

Tensor tanh(const Tensor& x) { return ops::tanh(x); }
Tensor hard_tanh(const Tensor& x) { return ops::hard_tanh(x); }
Tensor softplus(const Tensor& x) { return ops::softplus(x); }
Tensor squareplus(const Tensor& x, double b) { return ops::squareplus(x, b); }

Tensor sparse_plus(const Tensor& x) { return ops::sparse_plus(x); }

Tensor softsign(const Tensor& x) { return ops::softsign(x); }
Tensor tanh_shrink(const Tensor& x) { return ops::tanh_shrink(x); }

Tensor soft_shrink(const Tensor& x, double threshold) { return ops::soft_shrink(x, threshold); }

Tensor hard_shrink(const Tensor& x, double threshold) { return ops::hard_shrink(x, threshold); }

Tensor threshold(const Tensor& x, double threshold, double default_value) {
  return ops::threshold(x, threshold, default_value);
}

Tensor softmax(const Tensor& x, int axis) { return ops::softmax(x, axis); }
Tensor log_softmax(const Tensor& x, int axis) { return ops::log_softmax(x, axis); }

Tensor sparsemax(const Tensor& x, int axis) { return ops::sparsemax(x, axis); }

}  // namespace cohort::activations
