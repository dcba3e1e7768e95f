#include <vector>

#include "cohort/core/kernel.h"
#include "cohort/kernels/cpu/strided_copy.h"

namespace cohort {
namespace {

using Sizes = std::vector<std::int64_t>;

// A part of a whole along one axis: [outer, size, inner] inside [outer, whole, inner].
struct PartCopies {
  std::int64_t outer, whole, inner;
  DType dtype;

  PartCopies(const TensorSpec& spec, int axis)
      : outer(spec.shape.slice(0, axis).num_elements()),
        whole(spec.shape[axis]),
        inner(spec.shape.slice(axis + 1).num_elements()),
        dtype(spec.dtype) {}
  StridedCopy into_whole(std::int64_t offset, std::int64_t size) const {
    const CopyAxis axes[] = {{outer, size * inner, whole * inner}, {size * inner, 1, 1}};
    return StridedCopy(dtype, axes, 0, offset * inner);
  }
  StridedCopy out_of_whole(std::int64_t offset, std::int64_t size) const {
    const CopyAxis axes[] = {{outer, whole * inner, size * inner}, {size * inner, 1, 1}};
    return StridedCopy(dtype, axes, offset * inner, 0);
  }
};

KernelFn make_concat(const KernelSpec& spec) {
  const int axis = normalize_axis(spec.attr<int>("axis"), spec.output(0).shape.rank(), spec.name());
  const PartCopies parts(spec.output(0), axis);
  std::vector<StridedCopy> copies;
  std::int64_t offset = 0;
  for (int i = 0; i < spec.num_inputs(); ++i) {
    const std::int64_t size = spec.input(i).shape[axis];
    copies.push_back(parts.into_whole(offset, size));
    offset += size;
  }
  return [copies](const KernelIO& io) {
    for (std::size_t i = 0; i < copies.size(); ++i) copies[i].run(io.inputs[i], io.outputs[0]);
  };
}

KernelFn make_stack(const KernelSpec& spec) {
  const int axis = normalize_axis(spec.attr<int>("axis"), spec.output(0).shape.rank(), spec.name());
  const PartCopies parts(spec.output(0), axis);
  std::vector<StridedCopy> copies;
  for (int i = 0; i < spec.num_inputs(); ++i) copies.push_back(parts.into_whole(i, 1));
  return [copies](const KernelIO& io) {
    for (std::size_t i = 0; i < copies.size(); ++i) copies[i].run(io.inputs[i], io.outputs[0]);
  };
}

KernelFn make_split(const KernelSpec& spec) {
  const int axis = normalize_axis(spec.attr<int>("axis"), spec.input(0).shape.rank(), spec.name());
  const PartCopies parts(spec.input(0), axis);
  std::vector<StridedCopy> copies;
  std::int64_t offset = 0;
  for (int i = 0; i < spec.num_outputs(); ++i) {
    const std::int64_t size = spec.output(i).shape[axis];
    copies.push_back(parts.out_of_whole(offset, size));
    offset += size;
  }
  return [copies](const KernelIO& io) {
    for (std::size_t i = 0; i < copies.size(); ++i) copies[i].run(io.inputs[0], io.outputs[i]);
  };
}

// Axis by axis (multiple, n) for whole repeats, (n, multiple) for repeated elements; repeats read the same memory.
KernelFn make_repeated(const KernelSpec& spec, bool elements) {
  const Shape &from = spec.input(0).shape, &to = spec.output(0).shape;
  const auto from_strides = row_major_strides(from), to_strides = row_major_strides(to);
  const Sizes multiples = spec.attr<Sizes>("multiples");
  std::vector<CopyAxis> axes;
  for (int i = 0; i < from.rank(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t n = from[i], m = multiples[at], step = to_strides[at];
    if (elements) {
      axes.push_back({n, from_strides[at], step * m});
      axes.push_back({m, 0, step});
    } else {
      axes.push_back({m, 0, step * n});
      axes.push_back({n, from_strides[at], step});
    }
  }
  return [copy = StridedCopy(spec.input(0).dtype, axes)](const KernelIO& io) { copy.run(io.inputs[0], io.outputs[0]); };
}
KernelFn make_tile(const KernelSpec& spec) { return make_repeated(spec, false); }
KernelFn make_repeat(const KernelSpec& spec) { return make_repeated(spec, true); }

COHORT_KERNEL("Concat", kCPU, make_concat);
COHORT_KERNEL("Stack", kCPU, make_stack);
COHORT_KERNEL("SplitLike", kCPU, make_split);
COHORT_KERNEL("Split", kCPU, make_split);
COHORT_KERNEL("SplitEvenly", kCPU, make_split);
COHORT_KERNEL("Tile", kCPU, make_tile);
COHORT_KERNEL("Repeat", kCPU, make_repeat);

}  // namespace
}  // namespace cohort
