#pragma once

#include "cohort/kernels/cuda/element.h"

namespace cohort::kernels::cuda {

// A number as an element of another type: bool asks whether it is not zero, integers lose the fraction. What an integer
// cannot hold becomes the nearest it can, in 8 bits what remains of it in 32.
template <class To, class From>
__device__ To converted(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From{0};
  } else if constexpr (sizeof(To) == 1 && std::is_floating_point_v<From>) {
    return static_cast<To>(static_cast<std::int32_t>(x));
  } else {
    return narrowed<To>(static_cast<Compute<To>>(x));
  }
}

// Writes element i of memory of a type that is known at run time.
template <class From>
__device__ void store_converted(void* memory, DType dtype, std::int64_t i, From x) {
  switch (dtype) {
    case DType::Bool:
      static_cast<bool*>(memory)[i] = converted<bool>(x);
      break;
    case DType::UInt8:
      static_cast<std::uint8_t*>(memory)[i] = converted<std::uint8_t>(x);
      break;
    case DType::Int8:
      static_cast<std::int8_t*>(memory)[i] = converted<std::int8_t>(x);
      break;
    case DType::Int32:
      static_cast<std::int32_t*>(memory)[i] = converted<std::int32_t>(x);
      break;
    case DType::Int64:
      static_cast<std::int64_t*>(memory)[i] = converted<std::int64_t>(x);
      break;
    case DType::Float16:
      static_cast<__half*>(memory)[i] = converted<__half>(x);
      break;
    case DType::BFloat16:
      static_cast<__nv_bfloat16*>(memory)[i] = converted<__nv_bfloat16>(x);
      break;
    case DType::Float64:
      static_cast<double*>(memory)[i] = converted<double>(x);
      break;
    default:
      static_cast<float*>(memory)[i] = converted<float>(x);
      break;
  }
}

}  // namespace cohort::kernels::cuda
