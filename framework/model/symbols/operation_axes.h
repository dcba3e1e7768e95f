#pragma once

#include "cohort/core/attributes.h"
#include "cohort/ops/array.h"

namespace cohort {

// The axis, or another number, of an operation's config.
inline int axis_of(const Attributes& config, const char* name = "axis") {
  return static_cast<int>(config.get<std::int64_t>(name, std::int64_t{0}));
}

// Operations without an axis look at the flattened tensor.
inline Tensor flat_without_axis(const Tensor& x, const Attributes& config) {
  return config.has("axis") ? x : ops::reshape(x, {-1});
}

}  // namespace cohort
