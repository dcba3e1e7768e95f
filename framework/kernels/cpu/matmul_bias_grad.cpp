#include "cohort/core/mixed_types.h"
#include "cohort/kernels/column_sums.h"

namespace cohort {
namespace {

// A product and sums by the kernels that there are for each.
KernelFn make_matmul_bias_grad(const KernelSpec& spec) {
  const Specs inputs = {spec.input(0), spec.input(1)};
  const Attributes attributes = {{"transpose_a", spec.attr<bool>("transpose_a")},
                                 {kResultType, AttributeValue(spec.output(0).dtype)}};
  const OpCall call(find_op("FusedMatMul"), attributes, inputs);
  KernelFn product = make_kernel(KernelSpec(call, spec.outputs().first(1), spec.device(), spec.node()));
  return [product = std::move(product), sums = make_column_sums(spec)](const KernelIO& io) {
    product(io);
    sums({.inputs = io.inputs + 1, .outputs = io.outputs + 1});
  };
}

COHORT_KERNEL("MatMulBiasGrad", kCPU, make_matmul_bias_grad);

}  // namespace
}  // namespace cohort
