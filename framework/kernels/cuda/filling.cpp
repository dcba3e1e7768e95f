#include "cohort/cuda/fill.h"
#include "cohort/kernels/cuda/element_bits.h"
#include "cohort/kernels/cuda/stream.h"

namespace cohort::kernels::cuda {
namespace {

KernelFn fill_output(const KernelSpec& spec, std::uint64_t bits) {
  const std::size_t bytes = size_of(spec.output(0).dtype), count = static_cast<std::size_t>(spec.output_size(0));
  return [=](const KernelIO& io) {
    if (count > 0) cohort::cuda::enqueue_fill(io.outputs[0], bits, bytes, count, stream_of(io));
  };
}

KernelFn make_fill(const KernelSpec& spec) {
  return fill_output(spec, element_bits(spec.output(0).dtype, spec.attr<double>("value")));
}

KernelFn make_size_of(const KernelSpec& spec) {
  const Shape& shape = spec.input(0).shape;
  const auto axes = spec.attr<std::vector<std::int64_t>>("axes");
  std::array<bool, Shape::kMaxRank> counted{};
  if (axes.empty()) counted.fill(true);
  for (const std::int64_t axis : axes) {
    counted[static_cast<std::size_t>(normalize_axis(static_cast<int>(axis), shape.rank(), spec.name()))] = true;
  }
  std::int64_t size = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (counted[static_cast<std::size_t>(axis)]) size *= shape[axis];
  }
  return fill_output(spec, element_bits(spec.output(0).dtype, size));
}

COHORT_KERNEL("Fill", kGPU, make_fill);
COHORT_KERNEL("FullLike", kGPU, make_fill);
COHORT_KERNEL("ZerosLike", kGPU, make_fill);
COHORT_KERNEL("OnesLike", kGPU, make_fill);
COHORT_KERNEL("SizeOf", kGPU, make_size_of);

}  // namespace
}  // namespace cohort::kernels::cuda
