#pragma once

#include <cstdint>

#include "cohort/core/shape.h"

namespace cohort::kernels {

// A shape seen from one axis: `outer` blocks of `size` rows of `inner` elements.
struct AxisSplit {
  AxisSplit(const Shape& shape, int axis) {
    if (axis < 0) axis += shape.rank();
    for (int i = 0; i < axis; ++i) outer *= shape[i];
    size = shape[axis];
    for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  }
  std::int64_t outer = 1, size = 1, inner = 1;
};

}  // namespace cohort::kernels
