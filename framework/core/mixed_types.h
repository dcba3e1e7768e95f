#pragma once

#include "cohort/core/op.h"

namespace cohort {

// A pass lets an op read inputs and write its first output in other types than it computes in, where casts stood before
// and after it. The node then says in these attributes what it computes in and what its first output is.
inline constexpr const char* kComputeType = "compute_dtype";
inline constexpr const char* kResultType = "result_dtype";

// True for float16 and bfloat16.
constexpr bool is_half(DType dtype) { return dtype == DType::Float16 || dtype == DType::BFloat16; }

// What a call computes in: that of input i unless it says otherwise.
inline DType compute_type(const OpCall& call, int i) {
  return call.has_attr(kComputeType) ? call.attr<DType>(kComputeType) : call.dtype(i);
}
// What the first output of a call is that computes in `computed`.
inline DType result_type(const OpCall& call, DType computed) {
  return call.has_attr(kResultType) ? call.attr<DType>(kResultType) : computed;
}

// Whether elements of `stored` can stand for those of `computed`: the same type, or a half type for float32.
constexpr bool widens_to(DType stored, DType computed) {
  return stored == computed || (is_half(stored) && computed == DType::Float32);
}
// The same, or float32 for a half type.
constexpr bool rounds_to(DType stored, DType computed) {
  return stored == computed || (stored == DType::Float32 && is_half(computed));
}

}  // namespace cohort
