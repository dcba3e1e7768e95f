#include <algorithm>
#include <cstring>
#include <vector>

#include "cohort/core/kernel.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/strided_copy.h"
#include "cohort/kernels/cpu/visit.h"
#include "cohort/ops/slice_range.h"

namespace cohort {
namespace {

using Sizes = std::vector<std::int64_t>;
using Ranges = std::vector<SliceRange>;

// The copy between a tensor of shape `whole` and the dense tensor of its elements in `ranges`.
StridedCopy copy_of_ranges(DType dtype, const Shape& whole, const Ranges& ranges, bool into_whole) {
  const auto strides = row_major_strides(whole);
  Shape part;
  for (const SliceRange& range : ranges) part.push_back(range.count);
  const auto part_strides = row_major_strides(part);
  std::vector<CopyAxis> axes;
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const std::int64_t step = strides[i] * ranges[i].step;
    axes.push_back(into_whole ? CopyAxis{ranges[i].count, part_strides[i], step}
                              : CopyAxis{ranges[i].count, step, part_strides[i]});
    offset += strides[i] * ranges[i].start;
  }
  return StridedCopy(dtype, axes, into_whole ? 0 : offset, into_whole ? offset : 0);
}

Ranges ranges_of_slice(const KernelSpec& spec, const Shape& part) {
  const Sizes begin = spec.attr<Sizes>("begin");
  Ranges ranges;
  for (int i = 0; i < part.rank(); ++i) ranges.push_back({begin[static_cast<std::size_t>(i)], 1, part[i]});
  return ranges;
}

Ranges ranges_of_strided_slice(const KernelSpec& spec, const Shape& whole) {
  const Sizes begin = spec.attr<Sizes>("begin"), end = spec.attr<Sizes>("end"), strides = spec.attr<Sizes>("strides");
  const auto begin_mask = spec.attr<std::int64_t>("begin_mask"), end_mask = spec.attr<std::int64_t>("end_mask");
  Ranges ranges;
  for (int i = 0; i < whole.rank(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    ranges.push_back(slice_range(begin[at], end[at], strides[at], begin_mask >> i & 1, end_mask >> i & 1, whole[i]));
  }
  return ranges;
}

Ranges ranges_inside_padding(const KernelSpec& spec, const Shape& inside) {
  const Sizes before = spec.attr<Sizes>("before");
  Ranges ranges;
  for (int i = 0; i < inside.rank(); ++i) ranges.push_back({before[static_cast<std::size_t>(i)], 1, inside[i]});
  return ranges;
}

KernelFn take(const KernelSpec& spec, const Ranges& ranges) {
  return [copy = copy_of_ranges(spec.input(0).dtype, spec.input(0).shape, ranges, false)](const KernelIO& io) {
    copy.run(io.inputs[0], io.outputs[0]);
  };
}

// Zeros everywhere but in the ranges.
KernelFn put(const KernelSpec& spec, const Ranges& ranges) {
  const std::size_t bytes = static_cast<std::size_t>(spec.output_size(0)) * size_of(spec.output(0).dtype);
  return [bytes, copy = copy_of_ranges(spec.input(0).dtype, spec.output(0).shape, ranges, true)](const KernelIO& io) {
    std::memset(io.outputs[0], 0, bytes);
    copy.run(io.inputs[0], io.outputs[0]);
  };
}

KernelFn make_slice(const KernelSpec& spec) { return take(spec, ranges_of_slice(spec, spec.output(0).shape)); }
KernelFn make_slice_grad(const KernelSpec& spec) { return put(spec, ranges_of_slice(spec, spec.input(0).shape)); }
KernelFn make_strided_slice(const KernelSpec& spec) {
  return take(spec, ranges_of_strided_slice(spec, spec.input(0).shape));
}
KernelFn make_strided_slice_grad(const KernelSpec& spec) {
  return put(spec, ranges_of_strided_slice(spec, spec.output(0).shape));
}
KernelFn make_pad_grad(const KernelSpec& spec) { return take(spec, ranges_inside_padding(spec, spec.output(0).shape)); }

KernelFn make_pad(const KernelSpec& spec) {
  const DType dtype = spec.input(0).dtype;
  const auto copy = copy_of_ranges(dtype, spec.output(0).shape, ranges_inside_padding(spec, spec.input(0).shape), true);
  const std::int64_t count = spec.output_size(0);
  return visit_dtype(dtype, [&]<class T>(T) -> KernelFn {
    const T value = value_as<T>(spec.attr<double>("value"));
    return [=](const KernelIO& io) {
      T* out = io.out<T>(0);
      parallel_for(count, 32768,
                   [=](std::int64_t begin, std::int64_t end) { std::fill(out + begin, out + end, value); });
      copy.run(io.inputs[0], io.outputs[0]);
    };
  });
}

KernelFn make_roll(const KernelSpec& spec) {
  const Shape& shape = spec.input(0).shape;
  const int axis = normalize_axis(spec.attr<int>("axis"), shape.rank(), spec.name());
  const std::int64_t size = shape[axis], outer = shape.slice(0, axis).num_elements();
  const std::int64_t inner = shape.slice(axis + 1).num_elements();
  const std::int64_t shift = size == 0 ? 0 : (spec.attr<std::int64_t>("shift") % size + size) % size;
  const auto move = [&](std::int64_t from, std::int64_t to, std::int64_t count) {
    const CopyAxis axes[] = {{outer, size * inner, size * inner}, {count * inner, 1, 1}};
    return StridedCopy(spec.input(0).dtype, axes, from * inner, to * inner);
  };
  return [body = move(0, shift, size - shift), wrapped = move(size - shift, 0, shift)](const KernelIO& io) {
    body.run(io.inputs[0], io.outputs[0]);
    wrapped.run(io.inputs[0], io.outputs[0]);
  };
}

COHORT_KERNEL("Slice", kCPU, make_slice);
COHORT_KERNEL("SliceGrad", kCPU, make_slice_grad);
COHORT_KERNEL("StridedSlice", kCPU, make_strided_slice);
COHORT_KERNEL("StridedSliceGrad", kCPU, make_strided_slice_grad);
COHORT_KERNEL("Pad", kCPU, make_pad);
COHORT_KERNEL("PadGrad", kCPU, make_pad_grad);
COHORT_KERNEL("Roll", kCPU, make_roll);

}  // namespace
}  // namespace cohort
