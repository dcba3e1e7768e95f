#include <algorithm>

#include "cohort/kernels/cuda/pooling.h"

namespace cohort::kernels::cuda {
namespace {

// The largest of each window and which one it is; the first of equal ones.
template <class T, class I, int kCount>
struct FindLargest {
  PoolGeometry pool;
  BoundedDivider by_groups;
  const T* x;
  T* y;
  I* index;

  __device__ void operator()(std::int64_t i) const {
    const PoolPlace place = pool.output.place(i, by_groups, kCount);
    Compute<T> best[kCount] = {};
    std::int32_t where[kCount] = {};
    std::int32_t tap = 0;
    pool.for_each_tap(place, pool.window(place.at[0], place.at[1], place.at[2]), [&](std::int64_t offset) {
      const auto values = *reinterpret_cast<const Pack<T, kCount>*>(x + offset);
#pragma unroll
      for (int k = 0; k < kCount; ++k) {
        const Compute<T> value = widened(values.values[k]);
        const bool larger = tap == 0 || best[k] < value;
        best[k] = larger ? value : best[k];
        where[k] = larger ? tap : where[k];
      }
      ++tap;
    });
    Pack<T, kCount> result;
    Pack<I, kCount> chosen;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      result.values[k] = narrowed<T>(best[k]);
      chosen.values[k] = static_cast<I>(where[k]);
    }
    reinterpret_cast<Pack<T, kCount>*>(y)[i] = result;
    reinterpret_cast<Pack<I, kCount>*>(index)[i] = chosen;
  }
};

// An input gets what flows back from the windows in which it was the largest.
template <class T, class I, int kCount>
struct FlowToLargest {
  PoolGeometry pool;
  BoundedDivider by_groups;
  const T* dy;
  const I* index;
  T* dx;

  __device__ void operator()(std::int64_t i) const {
    const PoolPlace place = pool.input.place(i, by_groups, kCount);
    Compute<T> sum[kCount] = {};
    pool.for_each_window_over(place, [&](std::int64_t offset, const PoolGeometry::Window& window) {
      const I tap = static_cast<I>(window.tap_of(place.at));
      const auto flow = *reinterpret_cast<const Pack<T, kCount>*>(dy + offset);
      const auto chosen = *reinterpret_cast<const Pack<I, kCount>*>(index + offset);
#pragma unroll
      for (int k = 0; k < kCount; ++k) sum[k] += chosen.values[k] == tap ? widened(flow.values[k]) : Compute<T>(0);
    });
    Pack<T, kCount> result;
#pragma unroll
    for (int k = 0; k < kCount; ++k) result.values[k] = narrowed<T>(sum[k]);
    reinterpret_cast<Pack<T, kCount>*>(dx)[i] = result;
  }
};

// The same over two axes whose windows begin two inputs apart and reach over at most kReach of the cells between their
// beginnings: a thread has the 2 x 2 inputs of a cell, which share all that they read.
template <class T, int kCount, int kReach>
struct FlowToCells {
  static constexpr int kSide = 2;
  PoolGeometry pool;
  BoundedDivider by_groups, by_across, by_down;
  const T* dy;
  const std::uint8_t* index;
  T* dx;

  FlowToCells(const PoolGeometry& pool, const T* dy, const std::uint8_t* index, T* dx)
      : pool(pool), dy(dy), index(index), dx(dx) {
    const std::int64_t n = count();
    by_groups = BoundedDivider(pool.input.channels / kCount, n);
    by_across = BoundedDivider(cells(1), n);
    by_down = BoundedDivider(cells(0), n);
  }
  // Those of an axis, from the one in which the first window begins.
  std::int64_t cells(int axis) const { return (pool.axes[axis].inputs + pool.axes[axis].before + kSide - 1) / kSide; }
  // Groups of channels in all cells.
  std::int64_t count() const {
    const std::int64_t pixels = static_cast<std::int64_t>(pool.axes[0].inputs) * pool.axes[1].inputs;
    return pixels == 0 ? 0 : pool.input.elements / pixels / kCount * cells(0) * cells(1);
  }

  __device__ void operator()(std::int64_t i) const {
    const PoolAxis &down = pool.axes[0], &across = pool.axes[1];
    PoolPlace place;
    std::int64_t rest = i;
    i = by_groups.split(rest);
    place.channel = rest * kCount;
    std::int64_t cell_x = i, cell_y = by_across.split(cell_x);
    place.image = by_down.split(cell_y);
    const int first_y = static_cast<int>(cell_y) - kReach + 1, first_x = static_cast<int>(cell_x) - kReach + 1;

    Pack<T, kCount> flows[kReach][kReach] = {};
    Pack<std::uint8_t, kCount> chosen[kReach][kReach] = {};
#pragma unroll
    for (int a = 0; a < kReach; ++a) {
#pragma unroll
      for (int b = 0; b < kReach; ++b) {
        if (!exists(first_y + a, first_x + b)) continue;
        const std::int64_t offset = pool.output.offset(place, first_y + a, first_x + b, 0);
        flows[a][b] = *reinterpret_cast<const Pack<T, kCount>*>(dy + offset);
        chosen[a][b] = *reinterpret_cast<const Pack<std::uint8_t, kCount>*>(index + offset);
      }
    }
    const int y = static_cast<int>(cell_y) * kSide - down.before, x = static_cast<int>(cell_x) * kSide - across.before;
    float sums[kSide * kSide][kCount] = {};
#pragma unroll
    for (int a = 0; a < kReach; ++a) {
#pragma unroll
      for (int b = 0; b < kReach; ++b) {
#pragma unroll
        for (int p = 0; p < kSide * kSide; ++p) {
          const int tap = tap_of(first_y + a, first_x + b, y + p / kSide, x + p % kSide);
#pragma unroll
          for (int k = 0; k < kCount; ++k) {
            sums[p][k] += chosen[a][b].values[k] == tap ? widened(flows[a][b].values[k]) : 0.0f;
          }
        }
      }
    }
#pragma unroll
    for (int p = 0; p < kSide * kSide; ++p) {
      const int at_y = y + p / kSide, at_x = x + p % kSide;
      if (at_y < 0 || at_y >= down.inputs || at_x < 0 || at_x >= across.inputs) continue;
      Pack<T, kCount> result;
#pragma unroll
      for (int k = 0; k < kCount; ++k) result.values[k] = narrowed<T>(sums[p][k]);
      *reinterpret_cast<Pack<T, kCount>*>(dx + pool.input.offset(place, at_y, at_x, 0)) = result;
    }
  }

 private:
  __device__ bool exists(int window_y, int window_x) const {
    return window_y >= 0 && window_y < pool.axes[0].outputs && window_x >= 0 && window_x < pool.axes[1].outputs;
  }
  // Number of an input in a window, or -1.
  __device__ int tap_of(int window_y, int window_x, int y, int x) const {
    const int begin_y = pool.axes[0].begin(window_y), begin_x = pool.axes[1].begin(window_x);
    const int end_x = pool.axes[1].end(window_x);
    const bool inside =
        exists(window_y, window_x) && y >= begin_y && y < pool.axes[0].end(window_y) && x >= begin_x && x < end_x;
    return inside ? (y - begin_y) * (end_x - begin_x) + x - begin_x : -1;
  }
};

// How many cells the windows reach over; 0 where there are no such cells.
int reach_over_cells(const PoolGeometry& pool) {
  constexpr int kSide = 2, kLargest = 4;
  for (int axis = 0; axis < 2; ++axis) {
    const PoolAxis& a = pool.axes[axis];
    if (a.adaptive || a.stride != kSide || a.size > kLargest) return 0;
  }
  if (pool.axes[2].inputs != 1 || pool.axes[2].outputs != 1) return 0;
  return (std::max(pool.axes[0].size, pool.axes[1].size) + kSide - 1) / kSide;
}

// The element of each window that the index names.
template <class Word, class I>
struct TakeNamed {
  PoolGeometry pool;
  BoundedDivider by_groups;
  const Word* x;
  const I* index;
  Word* y;

  __device__ void operator()(std::int64_t i) const {
    const PoolPlace place = pool.output.place(i, by_groups, 1);
    const PoolGeometry::Window window = pool.window(place.at[0], place.at[1], place.at[2]);
    const int named = index[i];
    if (named < 0 || named >= window.taps()) return;
    const int columns = window.end[2] - window.begin[2], lines = window.end[1] - window.begin[1];
    const int line = named / columns;
    y[i] = x[pool.input.offset(place, window.begin[0] + line / lines, window.begin[1] + line % lines,
                               window.begin[2] + named % columns)];
  }
};

template <class Visit>
KernelFn visit_pool_index(DType dtype, Visit&& visit) {
  return dtype == DType::UInt8 ? visit(Type<std::uint8_t>{}) : visit(Type<std::int32_t>{});
}
// Large windows are rare: they go without kernels for several channels at a time.
template <class T, class I>
constexpr int kChannelsAtATime = std::is_same_v<I, std::uint8_t> ? kPerAccess<T> : 1;

template <class Body, class... Memory>
void launch_pool(const PoolGeometry& pool, const PoolSide& side, int count, const cohort::cuda::CudaDevice& device,
                 cudaStream_t stream, Memory... memory) {
  const std::int64_t groups = side.channels / count, n = side.elements / count;
  launch_each(n, device, stream, Body{pool, BoundedDivider(groups, n), memory...});
}

template <class T, int kCount, int kReach>
void launch_cells(const PoolGeometry& pool, const cohort::cuda::CudaDevice& device, cudaStream_t stream, const T* dy,
                  const std::uint8_t* index, T* dx) {
  const FlowToCells<T, kCount, kReach> body(pool, dy, index, dx);
  launch_each(body.count(), device, stream, body);
}

KernelFn make_max_pool(const KernelSpec& spec) {
  const PoolGeometry pool(spec, spec.input(0).shape);
  const auto* device = &cohort::cuda::device_of(spec);
  return visit_floating(spec.input(0).dtype, [&](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    return visit_pool_index(spec.output(1).dtype, [&](auto index_type) -> KernelFn {
      using I = typename decltype(index_type)::type;
      return [=](const KernelIO& io) {
        constexpr int kCount = kChannelsAtATime<T, I>;
        const bool packed = pool.output.channels % kCount == 0 && is_aligned(io.inputs[0]) &&
                            both_aligned(kAccessBytes, io.outputs[0], io.outputs[1]);
        const auto launch = packed ? launch_pool<FindLargest<T, I, kCount>, const T*, T*, I*>
                                   : launch_pool<FindLargest<T, I, 1>, const T*, T*, I*>;
        launch(pool, pool.output, packed ? kCount : 1, *device, stream_of(io), io.in<T>(0), io.out<T>(0), io.out<I>(1));
      };
    });
  });
}

// (dy, index, like)
KernelFn make_max_pool_grad(const KernelSpec& spec) {
  const PoolGeometry pool(spec, spec.output(0).shape);
  const auto* device = &cohort::cuda::device_of(spec);
  const int reach = reach_over_cells(pool);
  return visit_floating(spec.input(0).dtype, [&](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    return visit_pool_index(spec.input(1).dtype, [&](auto index_type) -> KernelFn {
      using I = typename decltype(index_type)::type;
      return [=](const KernelIO& io) {
        constexpr int kCount = kChannelsAtATime<T, I>;
        const bool packed = pool.input.channels % kCount == 0 && is_aligned(io.outputs[0]) &&
                            both_aligned(kAccessBytes, io.inputs[0], io.inputs[1]);
        if constexpr (kCount > 2) {
          if (packed && reach > 0) {
            const auto launch = reach == 1 ? launch_cells<T, kCount, 1> : launch_cells<T, kCount, 2>;
            return launch(pool, *device, stream_of(io), io.in<T>(0), io.in<I>(1), io.out<T>(0));
          }
        }
        const auto launch = packed ? launch_pool<FlowToLargest<T, I, kCount>, const T*, const I*, T*>
                                   : launch_pool<FlowToLargest<T, I, 1>, const T*, const I*, T*>;
        launch(pool, pool.input, packed ? kCount : 1, *device, stream_of(io), io.in<T>(0), io.in<I>(1), io.out<T>(0));
      };
    });
  });
}

// (x, index)
KernelFn make_max_pool_select(const KernelSpec& spec) {
  const PoolGeometry pool(spec, spec.input(0).shape);
  const auto* device = &cohort::cuda::device_of(spec);
  return visit_bytes(size_of(spec.input(0).dtype), [&](auto type) -> KernelFn {
    using Word = typename decltype(type)::type;
    return visit_pool_index(spec.input(1).dtype, [&](auto index_type) -> KernelFn {
      using I = typename decltype(index_type)::type;
      return [=](const KernelIO& io) {
        launch_pool<TakeNamed<Word, I>>(pool, pool.output, 1, *device, stream_of(io), io.in<Word>(0), io.in<I>(1),
                                        io.out<Word>(0));
      };
    });
  });
}

COHORT_KERNEL("MaxPool", kGPU, make_max_pool);
COHORT_KERNEL("MaxPoolGrad", kGPU, make_max_pool_grad);
COHORT_KERNEL("MaxPoolSelect", kGPU, make_max_pool_select);

}  // namespace
}  // namespace cohort::kernels::cuda
