#pragma once

#include "cohort/core/tensor.h"

namespace cohort::ops {

// x with elements of another plain type: floats are cut off towards zero on the way to integers, anything but zero is
// true. The same tensor when it has the type already.
Tensor cast(const Tensor& x, DType dtype);

// x as float32, unless it is floating already.
Tensor to_floating(const Tensor& x);

}  // namespace cohort::ops
