#pragma once

#include <cstdint>

#include "cohort/core/tensor.h"

namespace cohort::ops {

// -log of the probability that `output`, logits (batch, steps, classes), spells the first target_length (batch) labels
// of `target` (batch, length) in its first output_length (batch) steps, in any alignment; class `mask_index` is the
// blank. The result is (batch). Labels that cannot be spelled in so few steps cost about 707, as in TensorFlow.
Tensor ctc_loss(const Tensor& target, const Tensor& output, const Tensor& target_length, const Tensor& output_length,
                std::int64_t mask_index = 0);

}  // namespace cohort::ops
