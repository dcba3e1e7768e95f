#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "cohort/core/dtype.h"
#include "cohort/core/error.h"

namespace cohort::distribute::collective {

// Whether values of this type can be added up: float16, bfloat16, float32, float64, int32 and int64.
bool can_add(DType dtype);

// sum[i] = left[i] + right[i], where `sum` may be `left` or `right`. Half types are added as float32 and rounded once;
// integers wrap around.
void add(DType dtype, const void* left, const void* right, void* sum, std::size_t count);

// own[i] += the sum of others[0][i], others[1][i], ..., in this order.
void add_up(DType dtype, std::span<const std::byte* const> others, std::byte* own, std::size_t count);

// What values of a type are added up in before the sum is rounded.
template <class T>
using SumOf = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

// Calls `visit(T{})` with the C++ type of values that can be added up; throws for others.
template <class Visit>
void visit_summable(DType dtype, const Visit& visit) {
  if (!can_add(dtype)) throw internal_error("Communicator", "values of this type are not added", {{"dtype", dtype}});
  visit_dtype(dtype, [&]<class T>(T value) {
    if constexpr (!std::is_integral_v<T> || sizeof(T) >= sizeof(std::int32_t)) visit(value);
  });
}

}  // namespace cohort::distribute::collective
