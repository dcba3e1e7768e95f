#pragma once

#include <cstdint>
#include <type_traits>

#include "cohort/kernels/cuda/element.h"
#include "cohort/kernels/cuda/row_finish.h"

namespace cohort::kernels::cuda {

// What an activation makes of a number.
template <class C>
__device__ C activated(C x, RowFinish::Activation activation) {
  using Activation = RowFinish::Activation;
  if (activation == Activation::Relu) return fn::Relu{}(x);
  if (activation == Activation::Relu6) return fn::Relu6{}(x);
  if constexpr (std::is_floating_point_v<C>) {
    if (activation == Activation::Sigmoid) return fn::Sigmoid{}(x);
    if (activation == Activation::Tanh) return fn::Tanh{}(x);
    if (activation == Activation::Softplus) return fn::Softplus{}(x);
  }
  return x;
}

// The bias of a column for elements of type T, which may be stored as float32 where T is a half type.
template <class T>
__device__ T bias_at(const void* bias, bool wide, std::int64_t column) {
  if constexpr (std::is_same_v<Compute<T>, float>) {
    if (wide) return narrowed<T>(static_cast<const float*>(bias)[column]);
  }
  return static_cast<const T*>(bias)[column];
}

}  // namespace cohort::kernels::cuda
