#include "cohort/kernels/cuda/elementwise.h"
#include "cohort/kernels/gelu_math.h"

namespace cohort::kernels::cuda {
namespace {

// The hardware's tanh is right to 11 bits, more than the 8 that a bfloat16 holds.
struct GeluByShortTanh {
  __device__ fn::GeluAndSlope<float> operator()(float x) const {
    float t;
    asm("tanh.approx.f32 %0, %1;" : "=f"(t) : "f"(fn::gelu_argument(x)));
    return fn::gelu_of_tanh(x, t);
  }
};
template <class Form, class T>
using FormFor =
    std::conditional_t<std::is_same_v<Form, fn::GeluByTanh> && std::is_same_v<T, __nv_bfloat16>, GeluByShortTanh, Form>;

template <class Form, class T>
void launch_gelu(const T* x, T* y, T* slope, std::int64_t n, const cohort::cuda::CudaDevice& device,
                 cudaStream_t stream) {
  constexpr int kCount = kPerAccess<T>;
  using Elements = Pack<T, kCount>;
  const std::int64_t packed = is_aligned(x) && is_aligned(y) && is_aligned(slope) ? n / kCount : 0;
  const std::int64_t first = packed * kCount;
  launch_each(packed + n - first, device, stream, [=] __device__(std::int64_t i) {
    if (i >= packed) {
      const std::int64_t at = first + i - packed;
      const auto result = Form()(widened(x[at]));
      y[at] = narrowed<T>(result.value);
      slope[at] = narrowed<T>(result.slope);
      return;
    }
    const Elements in = reinterpret_cast<const Elements*>(x)[i];
    Elements values, slopes;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const auto result = Form()(widened(in.values[k]));
      values.values[k] = narrowed<T>(result.value);
      slopes.values[k] = narrowed<T>(result.slope);
    }
    reinterpret_cast<Elements*>(y)[i] = values;
    reinterpret_cast<Elements*>(slope)[i] = slopes;
  });
}

template <class Form>
KernelFn make_gelu_of(const KernelSpec& spec) {
  const auto* device = &cohort::cuda::device_of(spec);
  return visit_floating(spec.input(0).dtype, [n = spec.input_size(0), device](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    return [=](const KernelIO& io) {
      launch_gelu<FormFor<Form, T>>(io.in<T>(0), io.out<T>(0), io.out<T>(1), n, *device, stream_of(io));
    };
  });
}

KernelFn make_gelu(const KernelSpec& spec) {
  return spec.attr<bool>("approximate") ? make_gelu_of<fn::GeluByTanh>(spec) : make_gelu_of<fn::GeluByErf>(spec);
}

COHORT_KERNEL("Gelu", kGPU, make_gelu);

}  // namespace
}  // namespace cohort::kernels::cuda
