#pragma once

#include <cstdint>
#include <type_traits>

#include "cohort/core/dtype.h"

namespace cohort {

// Calls `visit(T{})` for the floating types.
template <class Visit>
decltype(auto) visit_floating(DType dtype, Visit&& visit) {
  switch (dtype) {
    case DType::Float16:
      return visit(Half{});
    case DType::BFloat16:
      return visit(BFloat16{});
    case DType::Float64:
      return visit(double{});
    default:
      return visit(float{});
  }
}

// Calls `visit(T{})` for the types of indices and labels.
template <class Visit>
decltype(auto) visit_index(DType dtype, Visit&& visit) {
  switch (dtype) {
    case DType::UInt8:
      return visit(std::uint8_t{});
    case DType::Int8:
      return visit(std::int8_t{});
    case DType::Int32:
      return visit(std::int32_t{});
    default:
      return visit(std::int64_t{});
  }
}

#ifdef COHORT_CPU_LEVEL
// Levels above the baseline are compiled for floating types alone: for any other the result is empty, which makes
// whoever asked go on to the baseline.
template <class Visit>
auto visit_number(DType dtype, Visit&& visit) {
  return is_floating(dtype) ? visit_floating(dtype, visit) : decltype(visit(float{})){};
}
template <class Visit>
auto visit_plain(DType dtype, Visit&& visit) {
  return visit_number(dtype, visit);
}
#else
// Calls `visit(T{})` for all types of numbers.
template <class Visit>
decltype(auto) visit_number(DType dtype, Visit&& visit) {
  return is_floating(dtype) ? visit_floating(dtype, visit) : visit_index(dtype, visit);
}
// Calls `visit(T{})` for all types of numbers and bool.
template <class Visit>
decltype(auto) visit_plain(DType dtype, Visit&& visit) {
  return visit_dtype(dtype, visit);
}
#endif

// float and double keep the value, integers truncate it, bool asks whether it is not zero.
template <class T>
T value_as(double value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

}  // namespace cohort
