#pragma once

#include <cstdint>
#include <span>

#include "cohort/core/dtype.h"

namespace cohort::distribute {

// Writes elements [first, last) of the inputs' sum, added in their order, into every output. Half types are added as
// float32 and rounded once. Outputs may be the inputs.
void sum_range(DType dtype, std::span<const void* const> inputs, std::span<void* const> outputs, std::int64_t first,
               std::int64_t last);

}  // namespace cohort::distribute
