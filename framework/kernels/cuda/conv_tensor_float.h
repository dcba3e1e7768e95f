#pragma once

#include "cohort/kernels/cuda/conv_sizes.h"
#include "cohort/kernels/cuda/row_finish.h"

namespace cohort::kernels::cuda {

// Convolutions over one or two axes in float32 whose operands are rounded to TensorFloat-32. Memory must be aligned to
// 16 bytes. The functions give nothing where such rounding is not allowed, and for sizes that are left to a library.

// Whether that is allowed, and sizes are such that the overhead of a library's kernels counts, and that int holds them.
bool suits_tensor_float(const ConvSizes& sizes, DType dtype);

// (x, kernel[, bias]) -> y with what follows, in one launch; and (dy, kernel) -> dx for strides of 1. Images are
// brought into shared memory line by line, and windows read there.
KernelFn tensor_float_conv(const KernelSpec& spec, const ConvSizes& sizes, const RowFinish& finish);
KernelFn tensor_float_input_gradient(const KernelSpec& spec, const ConvSizes& sizes);

// (x, dy) -> dkernel and, where `has_sums`, the sums of dy over all pixels: a product of the images' windows, never
// laid out in memory, and dy. The sum over all pixels is cut into parts, so that kernels of few elements fill a GPU;
// its order depends on the sizes alone.
KernelFn tensor_float_kernel_gradient(const KernelSpec& spec, const ConvSizes& sizes, bool has_sums);

}  // namespace cohort::kernels::cuda
