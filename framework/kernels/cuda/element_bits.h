#pragma once

#include <cstdint>
#include <cstring>

#include "cohort/core/dtype.h"

namespace cohort::kernels::cuda {

// A number as an element of `dtype`, in the lowest bytes; for sources of the host alone, whose compiler knows the half
// types.
template <class Number>
std::uint64_t element_bits(DType dtype, Number value) {
  return visit_dtype(dtype, [value](auto zero) {
    const auto element = static_cast<decltype(zero)>(value);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &element, sizeof element);
    return bits;
  });
}

}  // namespace cohort::kernels::cuda
