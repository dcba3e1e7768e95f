#include "cohort/kernels/broadcast_plan.h"

namespace cohort::kernels {
namespace {

using Strides = std::array<std::int64_t, Shape::kMaxRank>;

// Steps through `input` for each axis of `output`: 0 where the input is repeated.
Strides broadcast_strides(const Shape& input, const Shape& output) {
  Strides strides{};
  const Strides own = row_major_strides(input);
  const int missing = output.rank() - input.rank();
  for (int axis = 0; axis < input.rank(); ++axis) {
    strides[axis + missing] = input[axis] == 1 && output[axis + missing] != 1 ? 0 : own[axis];
  }
  return strides;
}

}  // namespace

BroadcastPlan::BroadcastPlan(const Shape& output, std::initializer_list<const Shape*> inputs)
    : operands(static_cast<int>(inputs.size())), rank(0), total(output.num_elements()) {
  std::array<Strides, kOperands> all{};
  int count = 0;
  for (const Shape* input : inputs) all[count++] = broadcast_strides(*input, output);

  for (int axis = 0; axis < output.rank(); ++axis) {
    if (output[axis] == 1) continue;
    bool merges = rank > 0;
    for (int i = 0; i < operands && merges; ++i) merges = strides[i][rank - 1] == all[i][axis] * output[axis];
    if (!merges) ++rank;
    sizes[rank - 1] = (merges ? sizes[rank - 1] : 1) * output[axis];
    for (int i = 0; i < operands; ++i) strides[i][rank - 1] = all[i][axis];
  }
  if (rank == 0) {
    rank = 1;
    sizes[0] = 1;
    for (int i = 0; i < operands; ++i) strides[i][0] = 1;
  }
}

}  // namespace cohort::kernels
