#pragma once

#include <optional>

#include "cohort/core/tensor.h"

// The functions of keras.activations, with Keras's names, arguments and defaults.
namespace cohort::activations {

Tensor linear(const Tensor& x);

// max(x, 0); with arguments: 0 (or a line of `negative_slope`) below `threshold`, at most `max_value`.
Tensor relu(const Tensor& x, double negative_slope = 0.0, std::optional<double> max_value = std::nullopt,
            double threshold = 0.0);
Tensor relu6(const Tensor& x);
Tensor leaky_relu(const Tensor& x, double negative_slope = 0.2);
Tensor elu(const Tensor& x, double alpha = 1.0);
Tensor selu(const Tensor& x);
Tensor celu(const Tensor& x, double alpha = 1.0);
Tensor gelu(const Tensor& x, bool approximate = false);
Tensor silu(const Tensor& x);
Tensor mish(const Tensor& x);
Tensor glu(const Tensor& x, int axis = -1);
Tensor exponential(const Tensor& x);

Tensor sigmoid(const Tensor& x);
Tensor log_sigmoid(const Tensor& x);
Tensor hard_sigmoid(const Tensor& x);
Tensor hard_silu(const Tensor& x);
Tensor sparse_sigmoid(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor hard_tanh(const Tensor& x);

Tensor softplus(const Tensor& x);
Tensor squareplus(const Tensor& x, double b = 4.0);
Tensor sparse_plus(const Tensor& x);
Tensor softsign(const Tensor& x);
Tensor tanh_shrink(const Tensor& x);
Tensor soft_shrink(const Tensor& x, double threshold = 0.5);
Tensor hard_shrink(const Tensor& x, double threshold = 0.5);
Tensor threshold(const Tensor& x, double threshold, double default_value);

Tensor softmax(const Tensor& x, int axis = -1);
Tensor log_softmax(const Tensor& x, int axis = -1);
// The distribution nearest to x: unlike softmax, often with zeros.
Tensor sparsemax(const Tensor& x, int axis = -1);

}  // namespace cohort::activations
