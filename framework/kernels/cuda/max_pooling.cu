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
  return visit_floating(spec.input(0).dtype, [&](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    return visit_pool_index(spec.input(1).dtype, [&](auto index_type) -> KernelFn {
      using I = typename decltype(index_type)::type;
      return [=](const KernelIO& io) {
        constexpr int kCount = kChannelsAtATime<T, I>;
        const bool packed = pool.input.channels % kCount == 0 && is_aligned(io.outputs[0]) &&
                            both_aligned(kAccessBytes, io.inputs[0], io.inputs[1]);
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
