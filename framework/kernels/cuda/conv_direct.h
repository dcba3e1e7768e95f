#pragma once

#include "cohort/kernels/cuda/conv_sizes.h"

namespace cohort::kernels::cuda {

// Convolutions of any floating type, number of axes, padding, dilation and groups, one thread for each number that
// comes out: (x, kernel) -> y, (dy, kernel) -> dx and (x, dy) -> dkernel by the first two inputs and the first output.
KernelFn direct_conv(const KernelSpec& spec, const ConvSizes& sizes);
KernelFn direct_input_gradient(const KernelSpec& spec, const ConvSizes& sizes);
KernelFn direct_kernel_gradient(const KernelSpec& spec, const ConvSizes& sizes);

}  // namespace cohort::kernels::cuda
