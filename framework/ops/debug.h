#pragma once

#include <string>

#include "cohort/core/tensor.h"

namespace cohort::ops {

// x itself; throws, with the message and the counts, when it holds NaN or infinity. Its gradient is checked likewise.
Tensor check_numerics(const Tensor& x, const std::string& message = {});
// The condition itself; throws with the message when an element of it is false.
Tensor assert_true(const Tensor& condition, const std::string& message);

}  // namespace cohort::ops
