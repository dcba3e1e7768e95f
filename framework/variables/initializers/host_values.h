#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cohort/core/tensor.h"

namespace cohort::initializers {

// A tensor of `dtype` on the default device from floats on the host.
Tensor from_floats(const std::vector<float>& values, const Shape& shape, DType dtype);
Tensor from_floats(const Tensor& values, DType dtype);

enum class Numbers {
  Uniform,         // [0, 1)
  Normal,          // standard
  TruncatedNormal  // standard, drawn again when more than two deviations out
};

// Floats on the host, random numbers times `scale` plus `shift`, decided by a seed alone; without a seed by the
// process's next one.
Tensor random_values(const Shape& shape, std::optional<std::int64_t> seed, Numbers numbers, double scale, double shift);

}  // namespace cohort::initializers
