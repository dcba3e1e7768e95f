#include <vector>

#include "cohort/core/kernel.h"
#include "cohort/kernels/cpu/strided_copy.h"

namespace cohort {
namespace {

// Alias ops cost nothing where the executor lets them share memory; where it cannot, they copy.
KernelFn make_copy(const KernelSpec& spec) {
  const CopyAxis all{spec.input_size(0), 1, 1};
  return [copy = StridedCopy(spec.input(0).dtype, {&all, 1})](const KernelIO& io) {
    if (io.inputs[0] != io.outputs[0]) copy.run(io.inputs[0], io.outputs[0]);
  };
}

KernelFn make_transpose(const KernelSpec& spec) {
  const Shape& to = spec.output(0).shape;
  const auto from_strides = row_major_strides(spec.input(0).shape), to_strides = row_major_strides(to);
  const auto perm = spec.attr<std::vector<std::int64_t>>("perm");
  const int rank = to.rank();
  std::vector<CopyAxis> axes;
  for (int i = 0; i < rank; ++i) {
    std::int64_t axis = perm.empty() ? rank - 1 - i : perm[static_cast<std::size_t>(i)];
    if (axis < 0) axis += rank;
    axes.push_back({to[i], from_strides[static_cast<std::size_t>(axis)], to_strides[static_cast<std::size_t>(i)]});
  }
  return [copy = StridedCopy(spec.input(0).dtype, axes)](const KernelIO& io) { copy.run(io.inputs[0], io.outputs[0]); };
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
