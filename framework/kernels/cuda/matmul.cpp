#include <memory>

#include "cohort/core/kernel.h"
#include "cohort/core/mixed_types.h"
#include "cohort/kernels/column_sums.h"
#include "cohort/kernels/cuda/product.h"
#include "cohort/kernels/cuda/tiled_product.h"

namespace cohort::kernels::cuda {
namespace {

ProductShape shape_of(const KernelSpec& spec, DType computed) {
  return {computed,
          spec.input(0).shape,
          spec.input(1).shape,
          spec.output(0).dtype,
          spec.output(0).shape,
          spec.attr<bool>("transpose_a"),
          spec.attr<bool>("transpose_b")};
}

KernelFn make_matmul(const KernelSpec& spec) {
  auto product = std::make_shared<const Product>(shape_of(spec, spec.input(0).dtype), cohort::cuda::device_of(spec));
  return [product](const KernelIO& io) {
    product->run(io.inputs[0], io.inputs[1], io.outputs[0], nullptr, static_cast<cudaStream_t>(io.stream));
  };
}

// A float32 operand of a product of half types, which is rounded in the workspace first.
struct RoundedOperand {
  bool wide = false;
  std::int64_t count = 0;
  std::size_t place = 0;  // in the workspace
};

KernelFn make_fused_matmul(const KernelSpec& spec) {
  constexpr std::size_t kPlaces = 256;  // that operands are aligned to
  const DType computed = compute_type(spec.call(), 0);
  auto& device = cohort::cuda::device_of(spec);
  const bool has_bias = spec.num_inputs() > 2;
  const ProductFinish finish{spec.attr<std::string>("activation"), has_bias,
                             has_bias && spec.input(2).dtype != computed};
  auto product = std::make_shared<const Product>(shape_of(spec, computed), device, finish);
  RoundedOperand operands[2];
  std::size_t bytes = Product::kWorkspace;
  for (int i = 0; i < 2; ++i) {
    operands[i] = {spec.input(i).dtype != computed, spec.input_size(i), bytes};
    if (!operands[i].wide) continue;
    bytes += static_cast<std::size_t>(operands[i].count) * size_of(computed);
    bytes = (bytes + kPlaces - 1) / kPlaces * kPlaces;
  }
  if (operands[0].wide || operands[1].wide) device.reserve_workspace(bytes);
  return [=, a = operands[0], b = operands[1], device = &device](const KernelIO& io) {
    const auto stream = static_cast<cudaStream_t>(io.stream);
    const auto rounded = [&](const RoundedOperand& operand, int input) -> const void* {
      if (!operand.wide) return io.inputs[input];
      void* place = static_cast<char*>(device->workspace()) + operand.place;
      enqueue_rounding(computed, io.inputs[input], place, operand.count, *device, stream);
      return place;
    };
    const void *left = rounded(a, 0), *right = rounded(b, 1);
    product->run(left, right, io.outputs[0], has_bias ? io.inputs[2] : nullptr, stream);
  };
}

KernelFn make_matmul_bias_grad(const KernelSpec& spec) {
  const KernelFn rows_added = make_column_sums(spec);
  ProductFinish finish;
  finish.sums = spec.output(1).dtype;
  finish.column_sums = [rows_added](const void* matrix, void* sums, cudaStream_t stream) {
    void* const input = const_cast<void*>(matrix);
    rows_added({.inputs = &input, .outputs = &sums, .stream = stream});
  };
  const ProductShape shape(spec.input(0).dtype, spec.input(0).shape, spec.input(1).shape, spec.output(0).dtype,
                           spec.output(0).shape, spec.attr<bool>("transpose_a"), false);
  auto product = std::make_shared<const Product>(shape, cohort::cuda::device_of(spec), finish);
  return [product](const KernelIO& io) {
    product->run({io.inputs[0], io.inputs[1], io.outputs[0], io.outputs[1]}, static_cast<cudaStream_t>(io.stream));
  };
}

KernelFn make_masked_matmul(const KernelSpec& spec) {
  const bool has_bias = spec.num_inputs() > 2;
  const ProductFinish finish{.activation = "Relu", .has_bias = has_bias, .mask = ProductFinish::Mask::Made};
  auto product =
      std::make_shared<const Product>(shape_of(spec, spec.input(0).dtype), cohort::cuda::device_of(spec), finish);
  return [=](const KernelIO& io) {
    product->run({io.inputs[0], io.inputs[1], io.outputs[0], has_bias ? io.inputs[2] : nullptr, io.outputs[1]},
                 static_cast<cudaStream_t>(io.stream));
  };
}

KernelFn make_matmul_relu_grad(const KernelSpec& spec) {
  auto product = std::make_shared<const Product>(shape_of(spec, spec.input(0).dtype), cohort::cuda::device_of(spec),
                                                 ProductFinish{.mask = ProductFinish::Mask::Applied});
  return [product](const KernelIO& io) {
    product->run({io.inputs[0], io.inputs[1], io.outputs[0], nullptr, io.inputs[2]},
                 static_cast<cudaStream_t>(io.stream));
  };
}

COHORT_KERNEL("MatMul", kGPU, make_matmul);
COHORT_KERNEL("FusedMatMul", kGPU, make_fused_matmul);
COHORT_KERNEL("MatMulBiasGrad", kGPU, make_matmul_bias_grad);
COHORT_KERNEL("MaskedMatMul", kGPU, make_masked_matmul);
COHORT_KERNEL("MatMulReluGrad", kGPU, make_matmul_relu_grad);

}  // namespace
}  // namespace cohort::kernels::cuda
