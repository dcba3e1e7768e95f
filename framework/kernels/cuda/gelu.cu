#include "cohort/kernels/cuda/elementwise.h"
#include "cohort/kernels/gelu_math.h"

namespace cohort::kernels::cuda {
namespace {

template <class T>
void launch_gelu(const T* x, T* y, T* slope, std::int64_t n, const cohort::cuda::CudaDevice& device,
                 cudaStream_t stream) {
  constexpr int kCount = kPerAccess<T>;
  using Elements = Pack<T, kCount>;
  const std::int64_t packed = is_aligned(x) && is_aligned(y) && is_aligned(slope) ? n / kCount : 0;
  const std::int64_t first = packed * kCount;
  launch_each(packed + n - first, device, stream, [=] __device__(std::int64_t i) {
    if (i >= packed) {
      const std::int64_t at = first + i - packed;
      const auto result = fn::gelu(widened(x[at]));
      y[at] = narrowed<T>(result.value);
      slope[at] = narrowed<T>(result.slope);
      return;
    }
    const Elements in = reinterpret_cast<const Elements*>(x)[i];
    Elements values, slopes;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const auto result = fn::gelu(widened(in.values[k]));
      values.values[k] = narrowed<T>(result.value);
      slopes.values[k] = narrowed<T>(result.slope);
    }
    reinterpret_cast<Elements*>(y)[i] = values;
    reinterpret_cast<Elements*>(slope)[i] = slopes;
  });
}

KernelFn make_gelu(const KernelSpec& spec) {
  const auto* device = &cohort::cuda::device_of(spec);
  return visit_floating(spec.input(0).dtype, [n = spec.input_size(0), device](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    return [=](const KernelIO& io) { launch_gelu(io.in<T>(0), io.out<T>(0), io.out<T>(1), n, *device, stream_of(io)); };
  });
}

COHORT_KERNEL("Gelu", kGPU, make_gelu);

}  // namespace
}  // namespace cohort::kernels::cuda
