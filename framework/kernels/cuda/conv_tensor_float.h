#pragma once

#include "cohort/kernels/cuda/conv_sizes.h"

namespace cohort::kernels::cuda {

// (x, dy) -> dkernel of a convolution over one or two axes in float32, operands rounded to TensorFloat-32: a product of
// the images' windows, never laid out in memory, and dy. The sum over all pixels is cut into parts, so that kernels
// of few elements fill a GPU; its order depends on the sizes alone. Memory must be aligned to 16 bytes. Empty where
// such rounding is not allowed, and for sizes that are left to a library.
KernelFn tensor_float_kernel_gradient(const KernelSpec& spec, const ConvSizes& sizes);

}  // namespace cohort::kernels::cuda
