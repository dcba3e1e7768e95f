#pragma once

#include "cohort/core/tensor.h"

namespace cohort::ops {

// exp(x) divided by its sum along an axis.
Tensor softmax(const Tensor& x, int axis = -1);
// The logarithm of softmax(x) along an axis.
Tensor log_softmax(const Tensor& x, int axis = -1);

// Cross-entropy between the softmax of the logits (..., classes) and labels of the same shape; the result drops the
// last axis.
Tensor softmax_cross_entropy(const Tensor& logits, const Tensor& labels);
// The same for labels that are class numbers, of shape (...). A label outside [0, classes) is an error.
Tensor sparse_softmax_cross_entropy(const Tensor& logits, const Tensor& labels);
// Elementwise cross-entropy between sigmoid(logits) and labels.
Tensor sigmoid_cross_entropy(const Tensor& logits, const Tensor& labels);

}  // namespace cohort::ops
