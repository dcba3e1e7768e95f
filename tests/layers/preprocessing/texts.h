#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cohort/core/tensor.h"

namespace cohort {

using Strings = std::vector<std::string>;

// A tensor of one axis.
inline Tensor texts(Strings values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return Tensor::of_strings(std::move(values), {count});
}

}  // namespace cohort
