#pragma once

#include "cohort/kernels/cpu/conv_plan.h"
#include "cohort/kernels/cpu/epilogue.h"
#include "cohort/kernels/cpu/panel_kernel.h"

namespace cohort {

// Float convolutions as matrix products whose panels are packed straight from the image: patches are never laid out in
// memory as a whole.
struct PanelConv {
  static void forward(const ConvPlan& plan, const float* x, const float* kernel, const float* bias,
                      const Epilogue<float>& finish, float* y);
  static void input_gradient(const ConvPlan& plan, const float* dy, const float* kernel, float* dx);
  static void kernel_gradient(const ConvPlan& plan, const float* x, const float* dy, float* dkernel);
};

}  // namespace cohort
