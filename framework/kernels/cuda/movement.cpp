#include "cohort/cuda/check.h"
#include "cohort/kernels/broadcast_plan.h"
#include "cohort/kernels/cuda/element_bits.h"
#include "cohort/kernels/cuda/padded_copy.h"
#include "cohort/kernels/cuda/parts_copy.h"
#include "cohort/kernels/cuda/stream.h"
#include "cohort/kernels/cuda/strided_copy.h"

namespace cohort::kernels::cuda {
namespace {

std::size_t element_bytes(const KernelSpec& spec) { return size_of(spec.input(0).dtype); }

// Alias ops cost nothing where the executor lets them share memory; where it cannot, they copy.
KernelFn make_alias(const KernelSpec& spec) {
  return [bytes = static_cast<std::size_t>(spec.input_size(0)) * element_bytes(spec)](const KernelIO& io) {
    if (bytes == 0 || io.inputs[0] == io.outputs[0]) return;
    cohort::cuda::check(cudaMemcpyAsync(io.outputs[0], io.inputs[0], bytes, cudaMemcpyDeviceToDevice, stream_of(io)));
  };
}

KernelFn run_copy(CopyLaunch copy) {
  return [copy = std::move(copy)](const KernelIO& io) { copy(io.inputs[0], io.outputs[0], stream_of(io)); };
}
KernelFn copy_by(const KernelSpec& spec, const CopyPlan& plan) {
  return run_copy(make_strided_copy(plan, element_bytes(spec)));
}

KernelFn make_transpose(const KernelSpec& spec) { return copy_by(spec, plan_transpose(spec)); }
KernelFn make_tile(const KernelSpec& spec) { return copy_by(spec, plan_tile(spec)); }
KernelFn make_repeat(const KernelSpec& spec) { return copy_by(spec, plan_repeat(spec)); }

// A tensor of shape `x`, repeated to the output's shape.
KernelFn broadcast(const KernelSpec& spec, const Shape& x) {
  const BroadcastPlan plan(spec.output(0).shape, {&x});
  std::vector<CopyAxis> axes(static_cast<std::size_t>(plan.rank));
  std::int64_t step = 1;
  for (std::size_t i = axes.size(); i-- > 0; step *= plan.sizes[i]) axes[i] = {plan.sizes[i], plan.strides[0][i], step};
  return copy_by(spec, CopyPlan(axes));
}

KernelFn make_broadcast_to(const KernelSpec& spec) { return broadcast(spec, spec.input(0).shape); }

KernelFn make_broadcast_like(const KernelSpec& spec) {
  const Shape& like = spec.input(1).shape;
  const auto axes = spec.attr<std::vector<std::int64_t>>("axes");
  if (axes.empty()) return broadcast(spec, spec.input(0).shape);
  std::array<bool, Shape::kMaxRank> inserted{};
  for (const std::int64_t axis : axes) {
    inserted[static_cast<std::size_t>(normalize_axis(static_cast<int>(axis), like.rank(), spec.name()))] = true;
  }
  Shape x;
  for (int axis = 0, from = 0; axis < like.rank(); ++axis) {
    x.push_back(inserted[static_cast<std::size_t>(axis)] ? 1 : spec.input(0).shape[from++]);
  }
  return broadcast(spec, x);
}

KernelFn take(const KernelSpec& spec, const Ranges& ranges) {
  return copy_by(spec, plan_take(spec.input(0).shape, ranges));
}
KernelFn put(const KernelSpec& spec, const Ranges& ranges, std::uint64_t elsewhere) {
  return run_copy(make_padded_copy(spec.output(0).shape, ranges, elsewhere, element_bytes(spec)));
}

KernelFn make_slice(const KernelSpec& spec) { return take(spec, ranges_of_slice(spec, spec.output(0).shape)); }
KernelFn make_slice_grad(const KernelSpec& spec) { return put(spec, ranges_of_slice(spec, spec.input(0).shape), 0); }
KernelFn make_strided_slice(const KernelSpec& spec) {
  return take(spec, ranges_of_strided_slice(spec, spec.input(0).shape));
}
KernelFn make_strided_slice_grad(const KernelSpec& spec) {
  return put(spec, ranges_of_strided_slice(spec, spec.output(0).shape), 0);
}
KernelFn make_pad(const KernelSpec& spec) {
  return put(spec, ranges_inside_padding(spec, spec.input(0).shape),
             element_bits(spec.input(0).dtype, spec.attr<double>("value")));
}
KernelFn make_pad_grad(const KernelSpec& spec) { return take(spec, ranges_inside_padding(spec, spec.output(0).shape)); }

KernelFn move_parts(const KernelSpec& spec, const std::vector<PartCopy>& parts, bool own_inputs, bool own_outputs) {
  return [=, copy = PartsCopy(parts, element_bytes(spec))](const KernelIO& io) {
    copy.run({io.inputs, own_inputs}, {io.outputs, own_outputs}, stream_of(io));
  };
}
KernelFn make_concat(const KernelSpec& spec) { return move_parts(spec, plan_concat(spec), true, false); }
KernelFn make_stack(const KernelSpec& spec) { return move_parts(spec, plan_stack(spec), true, false); }
KernelFn make_split(const KernelSpec& spec) { return move_parts(spec, plan_split(spec), false, true); }
KernelFn make_roll(const KernelSpec& spec) { return move_parts(spec, plan_roll(spec), false, false); }

COHORT_KERNEL("Reshape", kGPU, make_alias);
COHORT_KERNEL("ReshapeLike", kGPU, make_alias);
COHORT_KERNEL("ExpandDims", kGPU, make_alias);
COHORT_KERNEL("Squeeze", kGPU, make_alias);
COHORT_KERNEL("MergeAxes", kGPU, make_alias);
COHORT_KERNEL("UnmergeAxis", kGPU, make_alias);
COHORT_KERNEL("SplitRepeats", kGPU, make_alias);
COHORT_KERNEL("Identity", kGPU, make_alias);
COHORT_KERNEL("StopGradient", kGPU, make_alias);
COHORT_KERNEL("WaitFor", kGPU, make_alias);
COHORT_KERNEL("Transpose", kGPU, make_transpose);
COHORT_KERNEL("Tile", kGPU, make_tile);
COHORT_KERNEL("Repeat", kGPU, make_repeat);
COHORT_KERNEL("BroadcastTo", kGPU, make_broadcast_to);
COHORT_KERNEL("BroadcastLike", kGPU, make_broadcast_like);
COHORT_KERNEL("Slice", kGPU, make_slice);
COHORT_KERNEL("SliceGrad", kGPU, make_slice_grad);
COHORT_KERNEL("StridedSlice", kGPU, make_strided_slice);
COHORT_KERNEL("StridedSliceGrad", kGPU, make_strided_slice_grad);
COHORT_KERNEL("Pad", kGPU, make_pad);
COHORT_KERNEL("PadGrad", kGPU, make_pad_grad);
COHORT_KERNEL("Concat", kGPU, make_concat);
COHORT_KERNEL("Stack", kGPU, make_stack);
COHORT_KERNEL("SplitLike", kGPU, make_split);
COHORT_KERNEL("Split", kGPU, make_split);
COHORT_KERNEL("SplitEvenly", kGPU, make_split);
COHORT_KERNEL("Roll", kGPU, make_roll);

}  // namespace
}  // namespace cohort::kernels::cuda
