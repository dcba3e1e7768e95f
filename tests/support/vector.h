#pragma once

#include <initializer_list>

#include "cohort/core/tensor.h"

namespace cohort {

inline Tensor vector(std::initializer_list<float> values) {
  return Tensor::of<float>(values, {static_cast<std::int64_t>(values.size())});
}

}  // namespace cohort
