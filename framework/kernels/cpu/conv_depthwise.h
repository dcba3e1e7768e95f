#pragma once

#include "cohort/kernels/cpu/conv_plan.h"
#include "cohort/kernels/cpu/epilogue.h"

namespace cohort {

// Convolutions in which every channel has filters of its own: no sum runs over channels, so they are computed by rows
// of channels and not as matrix products. T: the floating types.
template <class T>
struct DepthwiseConv {
  static void forward(const ConvPlan& plan, const T* x, const T* kernel, const T* bias, const Epilogue<T>& finish,
                      T* y);
  static void input_gradient(const ConvPlan& plan, const T* dy, const T* kernel, T* dx);
  static void kernel_gradient(const ConvPlan& plan, const T* x, const T* dy, T* dkernel);
};

}  // namespace cohort
