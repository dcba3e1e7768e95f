#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "cohort/core/kernel.h"
#include "cohort/kernels/cuda/conv_cudnn.h"
#include "cohort/kernels/cuda/conv_direct.h"
#include "cohort/kernels/cuda/conv_few_channels.h"
#include "cohort/kernels/cuda/conv_sizes.h"
#include "cohort/kernels/cuda/conv_tensor_float.h"
#include "cohort/kernels/cuda/product.h"
#include "cohort/kernels/cuda/row_finish.h"

namespace cohort::kernels::cuda {
namespace {

// A convolution that is the product of its first two inputs as matrices.
KernelFn as_product(const KernelSpec& spec, const ProductShape& shape) {
  auto product = std::make_shared<const Product>(shape, cohort::cuda::device_of(spec));
  return [product](const KernelIO& io) {
    product->run(io.inputs[0], io.inputs[1], io.outputs[0], nullptr, static_cast<cudaStream_t>(io.stream));
  };
}

// `fast` where the memory is aligned as libraries want it, else `any`.
KernelFn where_aligned(KernelFn fast, KernelFn any) {
  return [fast = std::move(fast), any = std::move(any)](const KernelIO& io) {
    constexpr std::uintptr_t kAlignment = 16;
    const auto unaligned = [](const void* memory) { return reinterpret_cast<std::uintptr_t>(memory) % kAlignment; };
    const bool fits = !unaligned(io.inputs[0]) && !unaligned(io.inputs[1]) && !unaligned(io.outputs[0]);
    fits ? fast(io) : any(io);
  };
}

// By the library where it has an engine, else by own kernels.
KernelFn by_library(const KernelSpec& spec, const ConvSizes& sizes, ConvResult result, KernelFn own) {
  KernelFn library = cudnn_conv(spec, sizes, result);
  return library ? where_aligned(std::move(library), std::move(own)) : own;
}

KernelFn make_conv(const KernelSpec& spec) {
  const ConvSizes sizes(spec, spec.input(0).shape, spec.input(1).shape);
  const DType dtype = spec.output(0).dtype;
  if (sizes.pointwise()) {
    return as_product(spec, {dtype, sizes.outputs(), sizes.filters, sizes.channels, false, false});
  }
  if (KernelFn few = few_channels_conv(spec, sizes, false)) return few;
  return by_library(spec, sizes, ConvResult::Output, direct_conv(spec, sizes));
}

KernelFn make_fused_conv(const KernelSpec& spec) {
  const ConvSizes sizes(spec, spec.input(0).shape, spec.input(1).shape);
  if (!sizes.pointwise()) {
    if (KernelFn few = few_channels_conv(spec, sizes, true)) return few;
  }
  const Shape& y = spec.output(0).shape;
  const RowFinish finish(spec.output(0).dtype, spec.attr<std::string>("activation"), true, false);
  return [=, conv = make_conv(spec), columns = y.back(), rows = y.slice(0, y.rank() - 1).num_elements(),
          device = &cohort::cuda::device_of(spec)](const KernelIO& io) {
    conv(io);
    finish.run(io.outputs[0], io.inputs[2], rows, columns, *device, static_cast<cudaStream_t>(io.stream));
  };
}

// (dy, kernel, like), and (x, kernel) of a transposed convolution: the image is what comes out.
KernelFn make_conv_grad_input(const KernelSpec& spec) {
  const ConvSizes sizes(spec, spec.output(0).shape, spec.input(1).shape);
  const DType dtype = spec.output(0).dtype;
  if (sizes.pointwise()) {
    return as_product(spec, {dtype, sizes.outputs(), sizes.channels, sizes.filters, false, true});
  }
  return by_library(spec, sizes, ConvResult::InputGradient, direct_input_gradient(spec, sizes));
}

// (x, dy, like)
KernelFn make_conv_grad_kernel(const KernelSpec& spec) {
  const ConvSizes sizes(spec, spec.input(0).shape, spec.output(0).shape);
  const DType dtype = spec.output(0).dtype;
  if (sizes.pointwise()) {
    return as_product(spec, {dtype, sizes.channels, sizes.filters, sizes.outputs(), true, false});
  }
  if (KernelFn few = few_channels_kernel_gradient(spec, sizes)) return few;
  KernelFn direct = direct_kernel_gradient(spec, sizes);
  if (KernelFn own = tensor_float_kernel_gradient(spec, sizes)) return where_aligned(std::move(own), std::move(direct));
  return by_library(spec, sizes, ConvResult::KernelGradient, std::move(direct));
}

COHORT_KERNEL("Conv", kGPU, make_conv);
COHORT_KERNEL("FusedConv", kGPU, make_fused_conv);
COHORT_KERNEL("ConvGradInput", kGPU, make_conv_grad_input);
COHORT_KERNEL("ConvTranspose", kGPU, make_conv_grad_input);
COHORT_KERNEL("ConvGradKernel", kGPU, make_conv_grad_kernel);

}  // namespace
}  // namespace cohort::kernels::cuda
