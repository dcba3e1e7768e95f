#pragma once

#include "cohort/kernels/cuda/conv_sizes.h"

namespace cohort::kernels::cuda {

// Convolutions over one or two axes of images with at most four channels, whose windows are small: a block brings a
// part of the image into shared memory and computes many filters from it. Empty for other sizes and types, and where a
// library's matrix products are expected to be faster.

// (x, kernel) -> y, or (x, kernel, bias) -> relu(y + bias) by the attribute "activation", if that is Relu or nothing,
// rounded as the separate ops do.
KernelFn few_channels_conv(const KernelSpec& spec, const ConvSizes& sizes, bool has_bias);
// (x, dy) -> dkernel and, where `has_sums`, the sums of dy over all pixels, in an order that the sizes alone decide.
KernelFn few_channels_kernel_gradient(const KernelSpec& spec, const ConvSizes& sizes, bool has_sums);

}  // namespace cohort::kernels::cuda
