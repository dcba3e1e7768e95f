#include "cohort/kernels/cuda/row_finish.h"

#include "cohort/core/error.h"
#include "cohort/kernels/cuda/element.h"
#include "cohort/kernels/cuda/elementwise.h"
#include "cohort/kernels/cuda/launch.h"
#include "cohort/kernels/cuda/row_finish_elements.h"

namespace cohort::kernels::cuda {
namespace {

using Activation = RowFinish::Activation;

template <class T>
__device__ T finished(T x, T bias, bool has_bias, Activation activation) {
  if (has_bias) x = narrowed<T>(fn::Add{}(widened(x), widened(bias)));
  return activation == Activation::None ? x : narrowed<T>(activated(widened(x), activation));
}

template <class T, int kCount>
void finish(T* values, const void* bias, bool wide, std::int64_t rows, std::int64_t columns, Activation activation,
            const cohort::cuda::CudaDevice& device, cudaStream_t stream) {
  using Values = Pack<T, kCount>;
  auto* packs = reinterpret_cast<Values*>(values);
  const std::int64_t across = columns / kCount, n = rows * across;
  const bool has_bias = bias != nullptr;
  const bool narrow = n < (std::int64_t{1} << 31);
  launch_each(n, device, stream, [=] __device__(std::int64_t i) {
    Values pack = packs[i];
    T added[kCount] = {};
    if (has_bias) {
      const std::int64_t column =
          (narrow ? static_cast<std::uint32_t>(i) % static_cast<std::uint32_t>(across) : i % across) * kCount;
#pragma unroll
      for (int k = 0; k < kCount; ++k) added[k] = bias_at<T>(bias, wide, column + k);
    }
#pragma unroll
    for (int k = 0; k < kCount; ++k) pack.values[k] = finished(pack.values[k], added[k], has_bias, activation);
    packs[i] = pack;
  });
}

Activation activation_of(const std::string& name) {
  if (name == "Relu") return Activation::Relu;
  if (name == "Relu6") return Activation::Relu6;
  if (name == "Sigmoid") return Activation::Sigmoid;
  if (name == "Tanh") return Activation::Tanh;
  if (name == "Softplus") return Activation::Softplus;
  return Activation::None;
}

}  // namespace

RowFinish::RowFinish(DType dtype, const std::string& activation, bool has_bias, bool wide_bias)
    : dtype_(dtype), activation_(activation_of(activation)), has_bias_(has_bias), wide_bias_(wide_bias) {}

void RowFinish::run(void* values, const void* bias, std::int64_t rows, std::int64_t columns,
                    const cohort::cuda::CudaDevice& device, cudaStream_t stream) const {
  if (!*this || rows == 0 || columns == 0) return;
  const void* added = has_bias_ ? bias : nullptr;
  visit_number(dtype_, [&](auto type) {
    using T = typename decltype(type)::type;
    auto* typed = static_cast<T*>(values);
    constexpr int kCount = kPerAccess<T>;
    if constexpr (kCount > 1) {
      if (columns % kCount == 0 && is_aligned(values)) {
        return finish<T, kCount>(typed, added, wide_bias_, rows, columns, activation_, device, stream);
      }
    }
    finish<T, 1>(typed, added, wide_bias_, rows, columns, activation_, device, stream);
  });
}

}  // namespace cohort::kernels::cuda
