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

// The same for windows that are kSize elements wide over two axes: a line of them is asked for before the first one is
// looked at.
template <class T, int kCount, int kSize>
struct FindLargestOfLines {
  PoolGeometry pool;
  BoundedDivider by_groups;
  const T* x;
  T* y;
  std::uint8_t* index;

  __device__ void operator()(std::int64_t i) const {
    const PoolAxis &down = pool.axes[0], &across = pool.axes[1];
    const PoolPlace place = pool.output.place(i, by_groups, kCount);
    const int left = place.at[1] * across.stride - across.before;
    const int first = down.begin(place.at[0]), end = down.end(place.at[0]);
    const auto is_inside = [&](int b) { return left + b >= 0 && left + b < across.inputs; };
    const T* line = x + pool.input.offset(place, first, left, 0);
    float best[kCount] = {};
    int where[kCount] = {}, tap = 0;
#pragma unroll 1
    for (int a = first; a < end; ++a, line += across.inputs * pool.input.channels) {
      Pack<T, kCount> values[kSize];
#pragma unroll
      for (int b = 0; b < kSize; ++b) {
        if (is_inside(b)) values[b] = *reinterpret_cast<const Pack<T, kCount>*>(line + b * pool.input.channels);
      }
#pragma unroll
      for (int b = 0; b < kSize; ++b) {
        if (!is_inside(b)) continue;
#pragma unroll
        for (int k = 0; k < kCount; ++k) {
          const float value = widened(values[b].values[k]);
          const bool larger = tap == 0 || best[k] < value;
          best[k] = larger ? value : best[k];
          where[k] = larger ? tap : where[k];
        }
        ++tap;
      }
    }
    Pack<T, kCount> result;
    Pack<std::uint8_t, kCount> chosen;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      result.values[k] = narrowed<T>(best[k]);
      chosen.values[k] = static_cast<std::uint8_t>(where[k]);
    }
    reinterpret_cast<Pack<T, kCount>*>(y)[i] = result;
    reinterpret_cast<Pack<std::uint8_t, kCount>*>(index)[i] = chosen;
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

// The same over two axes whose windows of kSize x kSize elements begin two inputs apart: a thread has the 2 x 2 inputs
// of a cell, which share all that they read.
template <class T, int kCount, int kSize>
struct FlowToCells {
  static constexpr int kSide = 2, kReach = (kSize + kSide - 1) / kSide;  // windows over a cell, along an axis
  using Flow = Pack<T, kCount>;
  using Chosen = Pack<std::uint8_t, kCount>;
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
    std::int64_t group = i, cell_x = by_groups.split(group), cell_y = by_across.split(cell_x);
    place.channel = group * kCount;
    place.image = by_down.split(cell_y);
    const int first_y = static_cast<int>(cell_y) - kReach + 1, first_x = static_cast<int>(cell_x) - kReach + 1;

    Flow flows[kReach][kReach];
    Chosen chosen[kReach][kReach];
    load(place, first_y, first_x, flows, chosen);
    // Inputs that the first windows lack because they begin in the padding, and how wide the windows are.
    int lacks_y[kReach], lacks_x[kReach], width[kReach];
#pragma unroll
    for (int a = 0; a < kReach; ++a) {
      lacks_y[a] = max(0, down.before - kSide * (first_y + a));
      lacks_x[a] = max(0, across.before - kSide * (first_x + a));
      width[a] = min(kSize, across.inputs + across.before - kSide * (first_x + a)) - lacks_x[a];
    }
    float sums[kSide][kSide][kCount] = {};
#pragma unroll
    for (int a = 0; a < kReach; ++a) {
#pragma unroll
      for (int b = 0; b < kReach; ++b) {
#pragma unroll
        for (int p = 0; p < kSide * kSide; ++p) {
          const int row = (kReach - 1 - a) * kSide + p / kSide, column = (kReach - 1 - b) * kSide + p % kSide;
          if (row >= kSize || column >= kSize) continue;
          const int tap = (row - lacks_y[a]) * width[b] + column - lacks_x[b];
#pragma unroll
          for (int k = 0; k < kCount; ++k) {
            if (chosen[a][b].values[k] == tap) sums[p / kSide][p % kSide][k] += widened(flows[a][b].values[k]);
          }
        }
      }
    }
    store(place, static_cast<int>(cell_y) * kSide - down.before, static_cast<int>(cell_x) * kSide - across.before,
          sums);
  }

 private:
  // No element of a window that does not exist was chosen.
  __device__ void load(const PoolPlace& place, int first_y, int first_x, Flow (&flows)[kReach][kReach],
                       Chosen (&chosen)[kReach][kReach]) const {
    constexpr std::uint8_t kNone = 255;
    const PoolAxis &down = pool.axes[0], &across = pool.axes[1];
    const std::int64_t first = pool.output.offset(place, first_y, first_x, 0);
    const std::int64_t line = across.outputs * pool.output.channels;
#pragma unroll
    for (int a = 0; a < kReach; ++a) {
#pragma unroll
      for (int b = 0; b < kReach; ++b) {
        const int window_y = first_y + a, window_x = first_x + b;
        if (window_y >= 0 && window_y < down.outputs && window_x >= 0 && window_x < across.outputs) {
          const std::int64_t offset = first + a * line + b * pool.output.channels;
          flows[a][b] = *reinterpret_cast<const Flow*>(dy + offset);
          chosen[a][b] = *reinterpret_cast<const Chosen*>(index + offset);
        } else {
#pragma unroll
          for (int k = 0; k < kCount; ++k) chosen[a][b].values[k] = kNone;
        }
      }
    }
  }
  // Writes the inputs of the cell that begins at (y, x), as far as they exist.
  __device__ void store(const PoolPlace& place, int y, int x, const float (&sums)[kSide][kSide][kCount]) const {
    const PoolAxis &down = pool.axes[0], &across = pool.axes[1];
    T* corner = dx + pool.input.offset(place, y, x, 0);
    const std::int64_t line = across.inputs * pool.input.channels;
#pragma unroll
    for (int p = 0; p < kSide * kSide; ++p) {
      const int a = p / kSide, b = p % kSide;
      if (y + a < 0 || y + a >= down.inputs || x + b < 0 || x + b >= across.inputs) continue;
      Flow result;
#pragma unroll
      for (int k = 0; k < kCount; ++k) result.values[k] = narrowed<T>(sums[a][b][k]);
      *reinterpret_cast<Flow*>(corner + a * line + b * pool.input.channels) = result;
    }
  }
};

// The size of windows over two axes, 2 or 3 along both; 0 for others.
int small_window(const PoolGeometry& pool) {
  const PoolAxis &down = pool.axes[0], &across = pool.axes[1], &third = pool.axes[2];
  const bool flat = third.inputs == 1 && third.outputs == 1 && !down.adaptive && !across.adaptive;
  if (!flat || down.size != across.size || down.size < 2 || down.size > 3) return 0;
  return down.size;
}
bool begin_two_apart(const PoolGeometry& pool) { return pool.axes[0].stride == 2 && pool.axes[1].stride == 2; }

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

// Blocks for cells that a multiprocessor has room for at a time.
constexpr int kCellBlocks = 3;

template <class Cells>
__global__ void __launch_bounds__(kBlock, kCellBlocks) each_cell(std::int64_t n, Cells cells) {
  COHORT_EACH(i, n) cells(i);
}

template <class Body, class... Memory>
void launch_pool(const PoolGeometry& pool, const PoolSide& side, int count, const cohort::cuda::CudaDevice& device,
                 cudaStream_t stream, Memory... memory) {
  const std::int64_t groups = side.channels / count, n = side.elements / count;
  launch_each(n, device, stream, Body{pool, BoundedDivider(groups, n), memory...});
}

template <class T, int kCount, int kSize>
void launch_cells(const PoolGeometry& pool, const cohort::cuda::CudaDevice& device, cudaStream_t stream, const T* dy,
                  const std::uint8_t* index, T* dx) {
  const FlowToCells<T, kCount, kSize> cells(pool, dy, index, dx);
  const std::int64_t n = cells.count();
  if (n == 0) return;
  const int blocks = std::min(blocks_for(n, device), device.multiprocessors() * kCellBlocks);
  each_cell<<<blocks, kBlock, 0, stream>>>(n, cells);
  cohort::cuda::check(cudaGetLastError());
}

KernelFn make_max_pool(const KernelSpec& spec) {
  const PoolGeometry pool(spec, spec.input(0).shape);
  const auto* device = &cohort::cuda::device_of(spec);
  const int small = small_window(pool);
  return visit_floating(spec.input(0).dtype, [&](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    return visit_pool_index(spec.output(1).dtype, [&](auto index_type) -> KernelFn {
      using I = typename decltype(index_type)::type;
      return [=](const KernelIO& io) {
        constexpr int kCount = kChannelsAtATime<T, I>;
        const bool packed = pool.output.channels % kCount == 0 && is_aligned(io.inputs[0]) &&
                            both_aligned(kAccessBytes, io.outputs[0], io.outputs[1]);
        if constexpr (kCount > 2) {
          if (packed && small > 0) {
            const auto launch = small == 2 ? launch_pool<FindLargestOfLines<T, kCount, 2>, const T*, T*, I*>
                                           : launch_pool<FindLargestOfLines<T, kCount, 3>, const T*, T*, I*>;
            return launch(pool, pool.output, kCount, *device, stream_of(io), io.in<T>(0), io.out<T>(0), io.out<I>(1));
          }
        }
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
  const int small = begin_two_apart(pool) ? small_window(pool) : 0;
  return visit_floating(spec.input(0).dtype, [&](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    return visit_pool_index(spec.input(1).dtype, [&](auto index_type) -> KernelFn {
      using I = typename decltype(index_type)::type;
      return [=](const KernelIO& io) {
        constexpr int kCount = kChannelsAtATime<T, I>;
        const bool packed = pool.input.channels % kCount == 0 && is_aligned(io.outputs[0]) &&
                            both_aligned(kAccessBytes, io.inputs[0], io.inputs[1]);
        if constexpr (kCount > 2) {
          if (packed && small > 0) {
            const auto launch = small == 2 ? launch_cells<T, kCount, 2> : launch_cells<T, kCount, 3>;
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
