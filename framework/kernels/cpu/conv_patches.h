#pragma once

#include "cohort/kernels/cpu/conv_plan.h"
#include "cohort/kernels/cpu/epilogue.h"

namespace cohort {

// Convolutions as plain matrix products: the patches that outputs read are laid out as the rows of a matrix, a block of
// outputs at a time. For float64; what others are computed in has panels (PanelConv). T: double.
template <class T>
struct PatchConv {
  static void forward(const ConvPlan& plan, const T* x, const T* kernel, const T* bias, const Epilogue<T>& finish,
                      T* y);
  static void input_gradient(const ConvPlan& plan, const T* dy, const T* kernel, T* dx);
  static void kernel_gradient(const ConvPlan& plan, const T* x, const T* dy, T* dkernel);
};

}  // namespace cohort
