#include "cohort/kernels/cuda/pooling.h"

namespace cohort::kernels::cuda {
namespace {

template <class T, int kCount>
struct FindMean {
  PoolGeometry pool;
  BoundedDivider by_groups;
  const T* x;
  T* y;

  __device__ void operator()(std::int64_t i) const {
    const PoolPlace place = pool.output.place(i, by_groups, kCount);
    const PoolGeometry::Window window = pool.window(place.at[0], place.at[1], place.at[2]);
    Compute<T> sum[kCount] = {};
    pool.for_each_tap(place, window, [&](std::int64_t offset) {
      const auto values = *reinterpret_cast<const Pack<T, kCount>*>(x + offset);
#pragma unroll
      for (int k = 0; k < kCount; ++k) sum[k] += widened(values.values[k]);
    });
    const auto taps = static_cast<Compute<T>>(window.taps());
    Pack<T, kCount> result;
#pragma unroll
    for (int k = 0; k < kCount; ++k) result.values[k] = narrowed<T>(sum[k] / taps);
    reinterpret_cast<Pack<T, kCount>*>(y)[i] = result;
  }
};

// An input gets its share of what flows back from each window over it.
template <class T, int kCount>
struct FlowToAll {
  PoolGeometry pool;
  BoundedDivider by_groups;
  const T* dy;
  T* dx;

  __device__ void operator()(std::int64_t i) const {
    const PoolPlace place = pool.input.place(i, by_groups, kCount);
    Compute<T> sum[kCount] = {};
    pool.for_each_window_over(place, [&](std::int64_t offset, const PoolGeometry::Window& window) {
      const auto taps = static_cast<Compute<T>>(window.taps());
      const auto flow = *reinterpret_cast<const Pack<T, kCount>*>(dy + offset);
#pragma unroll
      for (int k = 0; k < kCount; ++k) sum[k] += widened(flow.values[k]) / taps;
    });
    Pack<T, kCount> result;
#pragma unroll
    for (int k = 0; k < kCount; ++k) result.values[k] = narrowed<T>(sum[k]);
    reinterpret_cast<Pack<T, kCount>*>(dx)[i] = result;
  }
};

template <template <class, int> class Body, class T>
void launch_average_pool(const PoolGeometry& pool, const PoolSide& side, const cohort::cuda::CudaDevice& device,
                         const KernelIO& io) {
  constexpr int kCount = kPerAccess<T>;
  const auto* from = io.in<T>(0);
  auto* to = io.out<T>(0);
  if (side.channels % kCount == 0 && both_aligned(kAccessBytes, from, to)) {
    const std::int64_t n = side.elements / kCount;
    launch_each(n, device, stream_of(io), Body<T, kCount>{pool, BoundedDivider(side.channels / kCount, n), from, to});
  } else {
    launch_each(side.elements, device, stream_of(io),
                Body<T, 1>{pool, BoundedDivider(side.channels, side.elements), from, to});
  }
}

KernelFn make_average_pool(const KernelSpec& spec) {
  const PoolGeometry pool(spec, spec.input(0).shape);
  const auto* device = &cohort::cuda::device_of(spec);
  return visit_floating(spec.input(0).dtype, [&](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    return [=](const KernelIO& io) { launch_average_pool<FindMean, T>(pool, pool.output, *device, io); };
  });
}

// (dy, like)
KernelFn make_average_pool_grad(const KernelSpec& spec) {
  const PoolGeometry pool(spec, spec.output(0).shape);
  const auto* device = &cohort::cuda::device_of(spec);
  return visit_floating(spec.input(0).dtype, [&](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    return [=](const KernelIO& io) { launch_average_pool<FlowToAll, T>(pool, pool.input, *device, io); };
  });
}

COHORT_KERNEL("AveragePool", kGPU, make_average_pool);
COHORT_KERNEL("AveragePoolGrad", kGPU, make_average_pool_grad);

}  // namespace
}  // namespace cohort::kernels::cuda
