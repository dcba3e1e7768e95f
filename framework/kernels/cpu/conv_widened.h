#pragma once

#include "cohort/kernels/cpu/conv_plan.h"
#include "cohort/kernels/cpu/epilogue.h"

namespace cohort {

// Convolutions of half types by those of float32 (PanelConv): some images at a time are widened, and what comes out is
// rounded once. T: Half, BFloat16.
template <class T>
struct WidenedConv {
  static void forward(const ConvPlan& plan, const T* x, const T* kernel, const T* bias, const Epilogue<T>& finish,
                      T* y);
  static void input_gradient(const ConvPlan& plan, const T* dy, const T* kernel, T* dx);
  static void kernel_gradient(const ConvPlan& plan, const T* x, const T* dy, T* dkernel);
};

}  // namespace cohort
