#include <vector>

#include "cohort/core/kernel.h"
#include "cohort/kernels/cpu/strided_copy.h"
#include "cohort/kernels/movement_plans.h"

namespace cohort {
namespace {

std::vector<StridedCopy> copies_of(const std::vector<kernels::PartCopy>& parts, DType dtype) {
  std::vector<StridedCopy> copies;
  for (const kernels::PartCopy& part : parts) copies.emplace_back(dtype, part.plan());
  return copies;
}

KernelFn join(const KernelSpec& spec, const std::vector<kernels::PartCopy>& parts) {
  return [copies = copies_of(parts, spec.output(0).dtype)](const KernelIO& io) {
    for (std::size_t i = 0; i < copies.size(); ++i) copies[i].run(io.inputs[i], io.outputs[0]);
  };
}
KernelFn make_concat(const KernelSpec& spec) { return join(spec, kernels::plan_concat(spec)); }
KernelFn make_stack(const KernelSpec& spec) { return join(spec, kernels::plan_stack(spec)); }

KernelFn make_split(const KernelSpec& spec) {
  return [copies = copies_of(kernels::plan_split(spec), spec.input(0).dtype)](const KernelIO& io) {
    for (std::size_t i = 0; i < copies.size(); ++i) copies[i].run(io.inputs[0], io.outputs[i]);
  };
}

KernelFn copy_by(const KernelSpec& spec, const kernels::CopyPlan& plan) {
  return [copy = StridedCopy(spec.input(0).dtype, plan)](const KernelIO& io) { copy.run(io.inputs[0], io.outputs[0]); };
}
KernelFn make_tile(const KernelSpec& spec) { return copy_by(spec, kernels::plan_tile(spec)); }
KernelFn make_repeat(const KernelSpec& spec) { return copy_by(spec, kernels::plan_repeat(spec)); }

COHORT_KERNEL("Concat", kCPU, make_concat);
COHORT_KERNEL("Stack", kCPU, make_stack);
COHORT_KERNEL("SplitLike", kCPU, make_split);
COHORT_KERNEL("Split", kCPU, make_split);
COHORT_KERNEL("SplitEvenly", kCPU, make_split);
COHORT_KERNEL("Tile", kCPU, make_tile);
COHORT_KERNEL("Repeat", kCPU, make_repeat);

}  // namespace
}  // namespace cohort
