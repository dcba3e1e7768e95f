#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "cohort/core/kernel.h"
#include "cohort/kernels/column_sums.h"
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
  KernelFn direct = direct_conv(spec, sizes);
  if (KernelFn own = tensor_float_conv(spec, sizes, RowFinish(dtype, "", false, false))) {
    return where_aligned(std::move(own), std::move(direct));
  }
  return by_library(spec, sizes, ConvResult::Output, std::move(direct));
}

// What follows a convolution in a kernel of its own.
KernelFn finished(const KernelSpec& spec, KernelFn conv, const RowFinish& finish) {
  const Shape& y = spec.output(0).shape;
  return [=, conv = std::move(conv), columns = y.back(), rows = y.slice(0, y.rank() - 1).num_elements(),
          device = &cohort::cuda::device_of(spec)](const KernelIO& io) {
    conv(io);
    finish.run(io.outputs[0], io.inputs[2], rows, columns, *device, static_cast<cudaStream_t>(io.stream));
  };
}

KernelFn make_fused_conv(const KernelSpec& spec) {
  const ConvSizes sizes(spec, spec.input(0).shape, spec.input(1).shape);
  const RowFinish finish(spec.output(0).dtype, spec.attr<std::string>("activation"), true, false);
  if (sizes.pointwise()) return finished(spec, make_conv(spec), finish);
  if (KernelFn few = few_channels_conv(spec, sizes, true)) return few;
  if (KernelFn own = tensor_float_conv(spec, sizes, finish)) {
    return where_aligned(std::move(own), finished(spec, direct_conv(spec, sizes), finish));
  }
  return finished(spec, make_conv(spec), finish);
}

// (dy, kernel, like), and (x, kernel) of a transposed convolution: the image is what comes out.
KernelFn make_conv_grad_input(const KernelSpec& spec) {
  const ConvSizes sizes(spec, spec.output(0).shape, spec.input(1).shape);
  const DType dtype = spec.output(0).dtype;
  if (sizes.pointwise()) {
    return as_product(spec, {dtype, sizes.outputs(), sizes.channels, sizes.filters, false, true});
  }
  KernelFn direct = direct_input_gradient(spec, sizes);
  if (KernelFn own = tensor_float_input_gradient(spec, sizes)) return where_aligned(std::move(own), std::move(direct));
  return by_library(spec, sizes, ConvResult::InputGradient, std::move(direct));
}

// (x, dy, like)
KernelFn make_conv_grad_kernel(const KernelSpec& spec) {
  const ConvSizes sizes(spec, spec.input(0).shape, spec.output(0).shape);
  const DType dtype = spec.output(0).dtype;
  if (sizes.pointwise()) {
    return as_product(spec, {dtype, sizes.channels, sizes.filters, sizes.outputs(), true, false});
  }
  if (KernelFn few = few_channels_kernel_gradient(spec, sizes, false)) return few;
  KernelFn direct = direct_kernel_gradient(spec, sizes);
  if (KernelFn own = tensor_float_kernel_gradient(spec, sizes, false)) {
    return where_aligned(std::move(own), std::move(direct));
  }
  return by_library(spec, sizes, ConvResult::KernelGradient, std::move(direct));
}

// (x, dy, like) -> the same and the sums of dy, which own kernels make on the way.
KernelFn make_conv_bias_grad(const KernelSpec& spec) {
  const ConvSizes sizes(spec, spec.input(0).shape, spec.output(0).shape);
  if (!sizes.pointwise()) {
    if (KernelFn few = few_channels_kernel_gradient(spec, sizes, true)) return few;
  }
  KernelFn apart = [kernel = make_conv_grad_kernel(spec), sums = make_column_sums(spec)](const KernelIO& io) {
    kernel(io);
    sums({.inputs = io.inputs + 1, .outputs = io.outputs + 1, .stream = io.stream});
  };
  if (!sizes.pointwise()) {
    if (KernelFn own = tensor_float_kernel_gradient(spec, sizes, true)) return where_aligned(own, apart);
  }
  return apart;
}

COHORT_KERNEL("Conv", kGPU, make_conv);
COHORT_KERNEL("FusedConv", kGPU, make_fused_conv);
COHORT_KERNEL("ConvGradInput", kGPU, make_conv_grad_input);
COHORT_KERNEL("ConvTranspose", kGPU, make_conv_grad_input);
COHORT_KERNEL("ConvGradKernel", kGPU, make_conv_grad_kernel);
COHORT_KERNEL("ConvBiasGrad", kGPU, make_conv_bias_grad);

}  // namespace
}  // namespace cohort::kernels::cuda
