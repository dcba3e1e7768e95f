#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "cohort/core/dtype.h"
#include "cohort/kernels/functors.h"

namespace cohort::kernels::cuda {

// What arithmetic on elements of type T happens in: float for the 16-bit floats.
template <class T>
using Compute = std::conditional_t<std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>, float, T>;

template <class T>
__device__ inline Compute<T> widened(T x) {
  if constexpr (std::is_same_v<T, __half>) {
    return __half2float(x);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __bfloat162float(x);
  } else {
    return x;
  }
}

template <class T>
__device__ inline T narrowed(Compute<T> x) {
  if constexpr (std::is_same_v<T, __half>) {
    return __float2half_rn(x);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __float2bfloat16_rn(x);
  } else {
    return x;
  }
}

// A type as a value, for visitors: `visit(Type<float>{})`.
template <class T>
struct Type {
  using type = T;
};

// Calls `visit(Type<T>{})` for the floating types.
template <class Visit>
decltype(auto) visit_floating(DType dtype, Visit&& visit) {
  switch (dtype) {
    case DType::Float16:
      return visit(Type<__half>{});
    case DType::BFloat16:
      return visit(Type<__nv_bfloat16>{});
    case DType::Float64:
      return visit(Type<double>{});
    default:
      return visit(Type<float>{});
  }
}

// Calls `visit(Type<T>{})` for the types of indices and labels.
template <class Visit>
decltype(auto) visit_index(DType dtype, Visit&& visit) {
  switch (dtype) {
    case DType::UInt8:
      return visit(Type<std::uint8_t>{});
    case DType::Int8:
      return visit(Type<std::int8_t>{});
    case DType::Int32:
      return visit(Type<std::int32_t>{});
    default:
      return visit(Type<std::int64_t>{});
  }
}

// Calls `visit(Type<T>{})` for all types of numbers.
template <class Visit>
decltype(auto) visit_number(DType dtype, Visit&& visit) {
  return is_floating(dtype) ? visit_floating(dtype, visit) : visit_index(dtype, visit);
}

// Calls `visit(Type<T>{})` for all types of numbers and bool.
template <class Visit>
decltype(auto) visit_plain(DType dtype, Visit&& visit) {
  return dtype == DType::Bool ? visit(Type<bool>{}) : visit_number(dtype, visit);
}

// Calls `visit(Type<Word>{})` with the unsigned type of this many bytes: for what moves elements without a look at
// them.
template <class Visit>
decltype(auto) visit_bytes(std::size_t bytes, Visit&& visit) {
  switch (bytes) {
    case 1:
      return visit(Type<std::uint8_t>{});
    case 2:
      return visit(Type<std::uint16_t>{});
    case 4:
      return visit(Type<std::uint32_t>{});
    default:
      return visit(Type<std::uint64_t>{});
  }
}

// Whether a functor with these types takes T.
template <fn::Types types, class T>
inline constexpr bool accepts = types == fn::Types::All      ? true
                                : types == fn::Types::Bool   ? std::is_same_v<T, bool>
                                : types == fn::Types::Number ? !std::is_same_v<T, bool>
                                                             : std::is_floating_point_v<Compute<T>>;

}  // namespace cohort::kernels::cuda
