#include "cohort/core/kernel.h"
#include "cohort/kernels/column_sums.h"

namespace cohort {
namespace {

// A kernel's gradient and sums by the kernels that there are for each.
KernelFn make_conv_bias_grad(const KernelSpec& spec) {
  const Specs inputs = {spec.input(0), spec.input(1), spec.input(2)};
  const OpCall call(find_op("ConvGradKernel"), spec.call().attributes(), inputs);
  KernelFn kernel = make_kernel(KernelSpec(call, spec.outputs().first(1), spec.device(), spec.node()));
  return [kernel = std::move(kernel), sums = make_column_sums(spec)](const KernelIO& io) {
    kernel(io);
    sums({.inputs = io.inputs + 1, .outputs = io.outputs + 1});
  };
}

COHORT_KERNEL("ConvBiasGrad", kCPU, make_conv_bias_grad);

}  // namespace
}  // namespace cohort
