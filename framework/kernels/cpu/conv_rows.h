#pragma once

#include "cohort/kernels/cpu/conv_plan.h"
#include "cohort/kernels/cpu/epilogue.h"

namespace cohort {

// Float convolutions whose neighbouring outputs read equally far apart: tiles read the image where it lies, and nothing
// but the kernel is packed. Only where vectors are so wide that packing would take long beside the products.
struct RowConv {
  // Whether outputs of this shape are computed so. They are the same sums as by panels.
  static bool suits(const ConvPlan& plan);
  static void forward(const ConvPlan& plan, const float* x, const float* kernel, const float* bias,
                      const Epilogue<float>& finish, float* y);
};

}  // namespace cohort
