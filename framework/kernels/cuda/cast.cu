#include <algorithm>

#include "cohort/kernels/cuda/converted.h"
#include "cohort/kernels/cuda/elementwise.h"
#include "cohort/kernels/cuda/words.h"

namespace cohort::kernels::cuda {
namespace {

// Several elements for each thread: whole accesses to the smaller type, two or more to the larger one, which are on
// their way together.
template <class From, class To>
void launch_cast(const void* x_memory, void* y_memory, std::int64_t n, const cohort::cuda::CudaDevice& device,
                 cudaStream_t stream) {
  constexpr int kCount = std::min(8, kAccessBytes / static_cast<int>(std::min(sizeof(From), sizeof(To))));
  using In = Pack<From, kCount>;
  using Out = Pack<To, kCount>;
  const auto* x = static_cast<const From*>(x_memory);
  auto* y = static_cast<To*>(y_memory);
  const std::int64_t packed = is_aligned_to(x, sizeof(In)) && is_aligned_to(y, sizeof(Out)) ? n / kCount : 0;
  const std::int64_t first = packed * kCount;
  launch_each(packed + n - first, device, stream, [=] __device__(std::int64_t i) {
    if (i >= packed) {
      const std::int64_t at = first + i - packed;
      y[at] = converted<To>(widened(x[at]));
      return;
    }
    const In in = reinterpret_cast<const In*>(x)[i];
    Out out;
#pragma unroll
    for (int k = 0; k < kCount; ++k) out.values[k] = converted<To>(widened(in.values[k]));
    reinterpret_cast<Out*>(y)[i] = out;
  });
}

__device__ std::int64_t load_integer(const void* memory, DType dtype, std::int64_t i) {
  switch (dtype) {
    case DType::Bool:
    case DType::UInt8:
      return static_cast<const std::uint8_t*>(memory)[i];
    case DType::Int8:
      return static_cast<const std::int8_t*>(memory)[i];
    case DType::Int32:
      return static_cast<const std::int32_t*>(memory)[i];
    default:
      return static_cast<const std::int64_t*>(memory)[i];
  }
}

__device__ double load_floating(const void* memory, DType dtype, std::int64_t i) {
  switch (dtype) {
    case DType::Float16:
      return widened(static_cast<const __half*>(memory)[i]);
    case DType::BFloat16:
      return widened(static_cast<const __nv_bfloat16*>(memory)[i]);
    case DType::Float64:
      return static_cast<const double*>(memory)[i];
    default:
      return static_cast<const float*>(memory)[i];
  }
}

// Any pair of types, by way of the widest type of the first one's kind, which changes no value.
void launch_any_cast(const void* x, DType from, void* y, DType to, std::int64_t n,
                     const cohort::cuda::CudaDevice& device, cudaStream_t stream) {
  launch_each(n, device, stream, [=, floating = is_floating(from)] __device__(std::int64_t i) {
    if (floating) {
      store_converted(y, to, i, load_floating(x, from, i));
    } else {
      store_converted(y, to, i, load_integer(x, from, i));
    }
  });
}

using CastLaunch = void (*)(const void* x, void* y, std::int64_t n, const cohort::cuda::CudaDevice& device,
                            cudaStream_t stream);

template <class From>
CastLaunch find_cast_to_float(DType to) {
  switch (to) {
    case DType::Float16:
      return launch_cast<From, __half>;
    case DType::BFloat16:
      return launch_cast<From, __nv_bfloat16>;
    case DType::Float32:
      return launch_cast<From, float>;
    default:
      return nullptr;
  }
}

// The pairs that models meet in their steps; kernels for all would take long to compile.
CastLaunch find_cast(DType from, DType to) {
  switch (from) {
    case DType::Bool:
    case DType::UInt8:
      return find_cast_to_float<std::uint8_t>(to);
    case DType::Int32:
      return find_cast_to_float<std::int32_t>(to);
    case DType::Int64:
      return find_cast_to_float<std::int64_t>(to);
    case DType::Float16:
      return find_cast_to_float<__half>(to);
    case DType::BFloat16:
      return find_cast_to_float<__nv_bfloat16>(to);
    case DType::Float64:
      return find_cast_to_float<double>(to);
    case DType::Float32:
      switch (to) {
        case DType::Bool:
          return launch_cast<float, bool>;
        case DType::Int32:
          return launch_cast<float, std::int32_t>;
        case DType::Int64:
          return launch_cast<float, std::int64_t>;
        case DType::Float64:
          return launch_cast<float, double>;
        default:
          return find_cast_to_float<float>(to);
      }
    default:
      return nullptr;
  }
}

KernelFn make_cast(const KernelSpec& spec) {
  const DType from = spec.input(0).dtype, to = spec.output(0).dtype;
  const std::int64_t n = spec.output_size(0);
  const auto* device = &cohort::cuda::device_of(spec);
  if (const CastLaunch launch = find_cast(from, to)) {
    return [=](const KernelIO& io) { launch(io.inputs[0], io.outputs[0], n, *device, stream_of(io)); };
  }
  return [=](const KernelIO& io) { launch_any_cast(io.inputs[0], from, io.outputs[0], to, n, *device, stream_of(io)); };
}

COHORT_KERNEL("Cast", kGPU, make_cast);

}  // namespace
}  // namespace cohort::kernels::cuda
