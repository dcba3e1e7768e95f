#pragma once

#include "cohort/core/tensor.h"

namespace cohort::ops {

// Cross-entropies without a mean over anything. `output` are probabilities, or logits when `from_logits`; where it came
// out of a softmax or sigmoid that is known, the logits behind it are taken.

// -target * log(output) - (1 - target) * log(1 - output), element by element.
Tensor binary_crossentropy(const Tensor& target, const Tensor& output, bool from_logits = false);
// -sum(target * log(output)) over `axis`, the classes; target is one-hot or a distribution, probabilities are first
// made to sum to one.
Tensor categorical_crossentropy(const Tensor& target, const Tensor& output, bool from_logits = false, int axis = -1);
// -log of the probability of the class that target names by its number; the classes are the last axis of output. A
// label outside the classes is an error.
Tensor sparse_categorical_crossentropy(const Tensor& target, const Tensor& output, bool from_logits = false,
                                       int axis = -1);

}  // namespace cohort::ops
