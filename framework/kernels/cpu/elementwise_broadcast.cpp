#include <algorithm>
#include <cstring>

#include "cohort/core/thread_pool.h"
#include "cohort/kernels/broadcast_plan.h"
#include "cohort/kernels/cpu/elementwise_loops.h"
#include "cohort/kernels/reduce_plan.h"

namespace cohort::kernels {
namespace {

template <class T, bool kMoves>
void copy_loop(const void* x_memory, void* y_memory, std::int64_t rows, std::int64_t columns, std::int64_t x_step) {
  const T* x = static_cast<const T*>(x_memory);
  T* y = static_cast<T*>(y_memory);
  for (std::int64_t row = 0; row < rows; ++row, x += x_step, y += columns) {
    if constexpr (kMoves) {
      std::memcpy(y, x, static_cast<std::size_t>(columns) * sizeof(T));
    } else {
      std::fill_n(y, columns, *x);
    }
  }
}

// The first input, repeated to the output's shape.
KernelFn broadcast_kernel(const KernelSpec& spec, const Shape& x) {
  const BroadcastPlan plan(spec.output(0).shape, {&x});
  const std::int64_t bytes = static_cast<std::int64_t>(size_of(spec.output(0).dtype));
  const CopyLoop loop = find_copy_loop(static_cast<std::size_t>(bytes), plan.moves(0));
  return [=](const KernelIO& io) {
    parallel_for(plan.total, kElementGrain, [&](std::int64_t begin, std::int64_t end) {
      plan.walk(begin, end,
                [&](std::int64_t position, std::int64_t rows, std::int64_t columns,
                    const BroadcastPlan::Offsets& offsets, const BroadcastPlan::Offsets& steps) {
                  loop(io.in<char>(0) + offsets[0] * bytes, io.out<char>(0) + position * bytes, rows, columns,
                       steps[0]);
                });
    });
  };
}

KernelFn make_broadcast_to(const KernelSpec& spec) { return broadcast_kernel(spec, spec.input(0).shape); }

KernelFn make_broadcast_like(const KernelSpec& spec) {
  const Shape& like = spec.input(1).shape;
  const auto axes = spec.attr<std::vector<std::int64_t>>("axes");
  if (axes.empty()) return broadcast_kernel(spec, spec.input(0).shape);
  const AxisMask inserted = reduced_axes(like, axes);
  Shape x;
  for (int axis = 0, from = 0; axis < like.rank(); ++axis) {
    x.push_back(inserted[static_cast<std::size_t>(axis)] ? 1 : spec.input(0).shape[from++]);
  }
  return broadcast_kernel(spec, x);
}

}  // namespace

CopyLoop find_copy_loop(std::size_t element_bytes, bool x_moves) {
  switch (element_bytes) {
    case 1:
      return x_moves ? copy_loop<std::uint8_t, true> : copy_loop<std::uint8_t, false>;
    case 2:
      return x_moves ? copy_loop<std::uint16_t, true> : copy_loop<std::uint16_t, false>;
    case 4:
      return x_moves ? copy_loop<std::uint32_t, true> : copy_loop<std::uint32_t, false>;
    default:
      return x_moves ? copy_loop<std::uint64_t, true> : copy_loop<std::uint64_t, false>;
  }
}

COHORT_KERNEL("BroadcastTo", kCPU, make_broadcast_to);
COHORT_KERNEL("BroadcastLike", kCPU, make_broadcast_like);

}  // namespace cohort::kernels
