#include <algorithm>

#include "cohort/core/kernel.h"
#include "cohort/kernels/cpu/strided_copy.h"
#include "cohort/kernels/movement_plans.h"

namespace cohort {
namespace {

// Alias ops cost nothing where the executor lets them share memory; where it cannot, they copy.
KernelFn make_copy(const KernelSpec& spec) {
  const kernels::CopyAxis all{spec.input_size(0), 1, 1};
  return [copy = StridedCopy(spec.input(0).dtype, kernels::CopyPlan({&all, 1}))](const KernelIO& io) {
    if (io.inputs[0] != io.outputs[0]) copy.run(io.inputs[0], io.outputs[0]);
  };
}

KernelFn make_transpose(const KernelSpec& spec) {
  return [copy = StridedCopy(spec.input(0).dtype, kernels::plan_transpose(spec))](const KernelIO& io) {
    copy.run(io.inputs[0], io.outputs[0]);
  };
}

KernelFn make_shape_of(const KernelSpec& spec) {
  return [shape = spec.input(0).shape](const KernelIO& io) {
    std::copy(shape.begin(), shape.end(), io.out<std::int64_t>(0));
  };
}

COHORT_KERNEL("Reshape", kCPU, make_copy);
COHORT_KERNEL("ReshapeLike", kCPU, make_copy);
COHORT_KERNEL("ExpandDims", kCPU, make_copy);
COHORT_KERNEL("Squeeze", kCPU, make_copy);
COHORT_KERNEL("MergeAxes", kCPU, make_copy);
COHORT_KERNEL("UnmergeAxis", kCPU, make_copy);
COHORT_KERNEL("SplitRepeats", kCPU, make_copy);
COHORT_KERNEL("Identity", kCPU, make_copy);
COHORT_KERNEL("StopGradient", kCPU, make_copy);
COHORT_KERNEL("WaitFor", kCPU, make_copy);
COHORT_KERNEL("Transpose", kCPU, make_transpose);
COHORT_KERNEL("ShapeOf", kCPU, make_shape_of);

}  // namespace
}  // namespace cohort
