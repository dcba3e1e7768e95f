#include "cohort/kernels/column_sums.h"

#include "cohort/core/mixed_types.h"

namespace cohort {

KernelFn make_column_sums(const KernelSpec& spec) {
  const TensorSpec& matrix = spec.input(1);
  const TensorSpec sums{spec.output(1).dtype, {matrix.shape.back()}};
  const Specs inputs = {matrix, sums};
  const Attributes attributes = {{kResultType, AttributeValue(sums.dtype)}};
  return make_kernel(
      KernelSpec(OpCall(find_op("SumToLike"), attributes, inputs), {&sums, 1}, spec.device(), spec.node()));
}

}  // namespace cohort
