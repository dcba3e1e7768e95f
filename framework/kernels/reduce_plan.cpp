#include "cohort/kernels/reduce_plan.h"

namespace cohort::kernels {

AxisMask reduced_axes(const Shape& shape, const std::vector<std::int64_t>& axes) {
  AxisMask mask{};
  if (axes.empty()) mask.fill(true);
  for (std::int64_t axis : axes) {
    mask[static_cast<std::size_t>(axis < 0 ? axis + shape.rank() : axis)] = true;
  }
  return mask;
}

AxisMask broadcast_axes(const Shape& x, const Shape& like) {
  AxisMask mask{};
  const int missing = x.rank() - like.rank();
  for (int axis = 0; axis < x.rank(); ++axis) {
    mask[static_cast<std::size_t>(axis)] = axis < missing || (like[axis - missing] == 1 && x[axis] != 1);
  }
  return mask;
}

void AxisWalk::push_front(std::int64_t size, std::int64_t stride) {
  for (int i = rank; i > 0; --i) {
    sizes[i] = sizes[i - 1];
    strides[i] = strides[i - 1];
  }
  sizes[0] = size;
  strides[0] = stride;
  ++rank;
}

ReducePlan::ReducePlan(const Shape& input, const AxisMask& mask) {
  // Axes from the back; neighbours of one kind are one axis.
  struct Axis {
    std::int64_t size, stride;
    bool reduced;
  };
  std::array<Axis, Shape::kMaxRank> axes{};
  int count = 0;
  std::int64_t stride = 1;
  for (int i = input.rank() - 1; i >= 0; --i) {
    const bool is_reduced = mask[static_cast<std::size_t>(i)];
    if (is_reduced) reduced_count *= input[i];
    if (input[i] != 1) {
      if (count > 0 && axes[count - 1].reduced == is_reduced) {
        axes[count - 1].size *= input[i];
      } else {
        axes[count++] = {input[i], stride, is_reduced};
      }
    }
    stride *= input[i];
  }

  int next = 0;
  if (count > 0) {
    over_columns = axes[0].reduced;
    columns = axes[0].size;
    next = 1;
    // The axis before the columns is reduced when they are kept; when they are reduced, rows come from further out.
    if (!over_columns && count > 1) {
      rows = axes[1].size;
      row_stride = axes[1].stride;
      next = 2;
    }
  }
  for (; next < count; ++next) {
    (axes[next].reduced ? reduced : kept).push_front(axes[next].size, axes[next].stride);
  }
  if (over_columns && reduced.rank > 0) {
    rows = reduced.sizes[reduced.rank - 1];
    row_stride = reduced.strides[reduced.rank - 1];
    --reduced.rank;
  }
}

}  // namespace cohort::kernels
