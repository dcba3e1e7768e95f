#pragma once

#include "cohort/core/tensor.h"

namespace cohort::ops {

// Activations beyond those of math.h, nn.h and gelu.h.

// x, or negative_slope * x where that is not positive.
Tensor leaky_relu(const Tensor& x, double negative_slope = 0.2);
// x, or alpha * (e^x - 1) where that is not positive.
Tensor elu(const Tensor& x, double alpha = 1.0);
// The elu of alpha 1.6733, scaled by 1.0507.
Tensor selu(const Tensor& x);
// max(x, 0) + min(alpha * (e^(x / alpha) - 1), 0).
Tensor celu(const Tensor& x, double alpha = 1.0);
// x * sigmoid(x).
Tensor silu(const Tensor& x);
// The first half of x along the axis times the sigmoid of the second.
Tensor glu(const Tensor& x, int axis = -1);
// log(sigmoid(x)).
Tensor log_sigmoid(const Tensor& x);
// x / 6 + 0.5, held within 0 and 1.
Tensor hard_sigmoid(const Tensor& x);
// x * hard_sigmoid(x).
Tensor hard_silu(const Tensor& x);
// (x + 1) / 2, held within 0 and 1.
Tensor sparse_sigmoid(const Tensor& x);
// x held within -1 and 1.
Tensor hard_tanh(const Tensor& x);
// (x + sqrt(x^2 + b)) / 2.
Tensor squareplus(const Tensor& x, double b = 4.0);
// 0 up to -1, (x + 1)^2 / 4 up to 1, x from there.
Tensor sparse_plus(const Tensor& x);
// x / (|x| + 1).
Tensor softsign(const Tensor& x);
// x - tanh(x).
Tensor tanh_shrink(const Tensor& x);
// x moved towards 0 by the threshold; 0 within it.
Tensor soft_shrink(const Tensor& x, double threshold = 0.5);
// x, but 0 where |x| is at most the threshold.
Tensor hard_shrink(const Tensor& x, double threshold = 0.5);
// x, but `default_value` where it is at most the threshold.
Tensor threshold(const Tensor& x, double threshold, double default_value);
// The distribution nearest to x along the axis: unlike softmax, often with zeros.
Tensor sparsemax(const Tensor& x, int axis = -1);

}  // namespace cohort::ops
