#pragma once

#include <cstddef>

#include "cohort/core/dtype.h"

namespace cohort::distribute::collective {

// Whether values of this type can be added up: float16, bfloat16, float32, float64, int32 and int64.
bool can_add(DType dtype);

// sum[i] = left[i] + right[i], where `sum` may be `left` or `right`. Half types are added as float32 and rounded once;
// integers wrap around.
void add(DType dtype, const void* left, const void* right, void* sum, std::size_t count);

}  // namespace cohort::distribute::collective
