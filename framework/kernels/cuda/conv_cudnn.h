#pragma once

#include "cohort/kernels/cuda/conv_sizes.h"

namespace cohort::kernels::cuda {

// What is computed from two of image, kernel and what comes out.
enum class ConvResult { Output, InputGradient, KernelGradient };

// A convolution over one or two axes by cuDNN, of the first two inputs as direct_conv and its gradients take them;
// empty where the library has no engine for it.
KernelFn cudnn_conv(const KernelSpec& spec, const ConvSizes& sizes, ConvResult result);

}  // namespace cohort::kernels::cuda
