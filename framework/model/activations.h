#pragma once

#include <optional>

#include "cohort/core/tensor.h"

// The functions of keras.activations, with Keras's names, arguments and defaults.
namespace cohort::activations {

// x as it is.
Tensor linear(const Tensor& x);

// max(x, 0); with arguments: 0 (or a line of `negative_slope`) below `threshold`, at most `max_value`.
Tensor relu(const Tensor& x, double negative_slope = 0.0, std::optional<double> max_value = std::nullopt,
            double threshold = 0.0);
// min(max(x, 0), 6).
Tensor relu6(const Tensor& x);
// x where it is positive, negative_slope * x elsewhere.
Tensor leaky_relu(const Tensor& x, double negative_slope = 0.2);
// x where it is positive, alpha * (exp(x) - 1) elsewhere.
Tensor elu(const Tensor& x, double alpha = 1.0);
// elu with the two constants that keep mean and variance from layer to layer: 1.0507 * elu(x, 1.6733).
Tensor selu(const Tensor& x);
// max(x, 0) + alpha * (exp(min(x, 0) / alpha) - 1).
Tensor celu(const Tensor& x, double alpha = 1.0);
// x times the normal distribution function of x; with `approximate` a formula with tanh.
Tensor gelu(const Tensor& x, bool approximate = false);
// x * sigmoid(x), also known as swish.
Tensor silu(const Tensor& x);
// x * tanh(softplus(x)).
Tensor mish(const Tensor& x);
// The first half along the axis, times the sigmoid of the second half; the axis becomes half as long.
Tensor glu(const Tensor& x, int axis = -1);
// exp(x).
Tensor exponential(const Tensor& x);

// 1 / (1 + exp(-x)).
Tensor sigmoid(const Tensor& x);
// log(sigmoid(x)).
Tensor log_sigmoid(const Tensor& x);
// A sigmoid made of lines: relu6(x + 3) / 6.
Tensor hard_sigmoid(const Tensor& x);
// x * hard_sigmoid(x), also known as hard swish.
Tensor hard_silu(const Tensor& x);
// 0 below -1, 1 above 1, (x + 1) / 2 between.
Tensor sparse_sigmoid(const Tensor& x);
// The hyperbolic tangent of x.
Tensor tanh(const Tensor& x);
// x, clipped to [-1, 1].
Tensor hard_tanh(const Tensor& x);

// log(exp(x) + 1).
Tensor softplus(const Tensor& x);
// (x + sqrt(x^2 + b)) / 2.
Tensor squareplus(const Tensor& x, double b = 4.0);
// 0 below -1, x above 1, (x + 1)^2 / 4 between.
Tensor sparse_plus(const Tensor& x);
// x / (|x| + 1).
Tensor softsign(const Tensor& x);
// x - tanh(x).
Tensor tanh_shrink(const Tensor& x);
// x moved by `threshold` towards zero; 0 within the threshold.
Tensor soft_shrink(const Tensor& x, double threshold = 0.5);
// x where |x| is above `threshold`, else 0.
Tensor hard_shrink(const Tensor& x, double threshold = 0.5);
// x where it is above `threshold`, else `default_value`.
Tensor threshold(const Tensor& x, double threshold, double default_value);

// exp(x) / sum(exp(x)) along the axis: numbers that are positive and sum to 1.
Tensor softmax(const Tensor& x, int axis = -1);
// log(softmax(x)) along the axis.
Tensor log_softmax(const Tensor& x, int axis = -1);
// Along the axis the distribution nearest to x, as Keras computes it: unlike softmax, often with zeros.
Tensor sparsemax(const Tensor& x, int axis = -1);

}  // namespace cohort::activations
