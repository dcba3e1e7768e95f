#include "cohort/kernels/movement_plans.h"

namespace cohort::kernels {
namespace {

using Sizes = std::vector<std::int64_t>;

// Axis by axis (multiple, n) for whole repeats, (n, multiple) for repeated elements; repeats read the same memory.
CopyPlan plan_repeated(const KernelSpec& spec, bool elements) {
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
  return CopyPlan(axes);
}

// A tensor along one axis: [outer, whole, inner].
struct Whole {
  std::int64_t outer, whole, inner;

  Whole(const Shape& shape, int axis)
      : outer(shape.slice(0, axis).num_elements()), whole(shape[axis]), inner(shape.slice(axis + 1).num_elements()) {}
  PartCopy into(std::int64_t offset, std::int64_t size) const {
    return {outer, size * inner, size * inner, whole * inner, 0, offset * inner};
  }
  PartCopy out_of(std::int64_t offset, std::int64_t size) const {
    return {outer, size * inner, whole * inner, size * inner, offset * inner, 0};
  }
};

CopyPlan plan_of_ranges(const Shape& whole, const Ranges& ranges, bool into_whole) {
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
  return CopyPlan(axes, into_whole ? 0 : offset, into_whole ? offset : 0);
}

}  // namespace

CopyPlan plan_transpose(const KernelSpec& spec) {
  const Shape& to = spec.output(0).shape;
  const auto from_strides = row_major_strides(spec.input(0).shape), to_strides = row_major_strides(to);
  const Sizes perm = spec.attr<Sizes>("perm");
  const int rank = to.rank();
  std::vector<CopyAxis> axes;
  for (int i = 0; i < rank; ++i) {
    std::int64_t axis = perm.empty() ? rank - 1 - i : perm[static_cast<std::size_t>(i)];
    if (axis < 0) axis += rank;
    axes.push_back({to[i], from_strides[static_cast<std::size_t>(axis)], to_strides[static_cast<std::size_t>(i)]});
  }
  return CopyPlan(axes);
}

CopyPlan plan_tile(const KernelSpec& spec) { return plan_repeated(spec, false); }
CopyPlan plan_repeat(const KernelSpec& spec) { return plan_repeated(spec, true); }

std::vector<PartCopy> plan_concat(const KernelSpec& spec) {
  const Shape& to = spec.output(0).shape;
  const int axis = normalize_axis(spec.attr<int>("axis"), to.rank(), spec.name());
  const Whole whole(to, axis);
  std::vector<PartCopy> parts;
  std::int64_t offset = 0;
  for (int i = 0; i < spec.num_inputs(); ++i) {
    const std::int64_t size = spec.input(i).shape[axis];
    parts.push_back(whole.into(offset, size));
    offset += size;
  }
  return parts;
}

std::vector<PartCopy> plan_stack(const KernelSpec& spec) {
  const Shape& to = spec.output(0).shape;
  const Whole whole(to, normalize_axis(spec.attr<int>("axis"), to.rank(), spec.name()));
  std::vector<PartCopy> parts;
  for (int i = 0; i < spec.num_inputs(); ++i) parts.push_back(whole.into(i, 1));
  return parts;
}

std::vector<PartCopy> plan_split(const KernelSpec& spec) {
  const Shape& from = spec.input(0).shape;
  const int axis = normalize_axis(spec.attr<int>("axis"), from.rank(), spec.name());
  const Whole whole(from, axis);
  std::vector<PartCopy> parts;
  std::int64_t offset = 0;
  for (int i = 0; i < spec.num_outputs(); ++i) {
    const std::int64_t size = spec.output(i).shape[axis];
    parts.push_back(whole.out_of(offset, size));
    offset += size;
  }
  return parts;
}

std::vector<PartCopy> plan_roll(const KernelSpec& spec) {
  const Shape& shape = spec.input(0).shape;
  const Whole all(shape, normalize_axis(spec.attr<int>("axis"), shape.rank(), spec.name()));
  const std::int64_t size = all.whole, inner = all.inner;
  const std::int64_t shift = size == 0 ? 0 : (spec.attr<std::int64_t>("shift") % size + size) % size;
  const auto move = [&](std::int64_t from, std::int64_t to, std::int64_t count) {
    return PartCopy{all.outer, count * inner, size * inner, size * inner, from * inner, to * inner};
  };
  return {move(0, shift, size - shift), move(size - shift, 0, shift)};
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

CopyPlan plan_take(const Shape& whole, const Ranges& ranges) { return plan_of_ranges(whole, ranges, false); }
CopyPlan plan_put(const Shape& whole, const Ranges& ranges) { return plan_of_ranges(whole, ranges, true); }

}  // namespace cohort::kernels
