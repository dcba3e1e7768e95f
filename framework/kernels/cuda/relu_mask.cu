#include "cohort/kernels/cuda/relu_mask.h"

#include "cohort/kernels/cuda/element.h"
#include "cohort/kernels/cuda/elementwise.h"
#include "cohort/kernels/cuda/launch.h"

namespace cohort::kernels::cuda {
namespace {

constexpr int kBits = 8;  // numbers of a byte

template <class T>
void note_positive(const Pack<T, kBits>* numbers, std::uint8_t* mask, std::int64_t bytes,
                   const cohort::cuda::CudaDevice& device, cudaStream_t stream) {
  launch_each(bytes, device, stream, [=] __device__(std::int64_t i) {
    const Pack<T, kBits> eight = numbers[i];
    unsigned int bits = 0;
#pragma unroll
    for (int k = 0; k < kBits; ++k) bits |= (widened(eight.values[k]) > 0 ? 1u : 0u) << k;
    mask[i] = static_cast<std::uint8_t>(bits);
  });
}

template <class T>
void keep_noted(Pack<T, kBits>* numbers, const std::uint8_t* mask, std::int64_t bytes,
                const cohort::cuda::CudaDevice& device, cudaStream_t stream) {
  launch_each(bytes, device, stream, [=] __device__(std::int64_t i) {
    Pack<T, kBits> eight = numbers[i];
    const unsigned int bits = mask[i];
#pragma unroll
    for (int k = 0; k < kBits; ++k) {
      if ((bits >> k & 1u) == 0) eight.values[k] = T(0.0f);
    }
    numbers[i] = eight;
  });
}

}  // namespace

void enqueue_relu_mask(DType dtype, const void* numbers, void* mask, std::int64_t count,
                       const cohort::cuda::CudaDevice& device, cudaStream_t stream) {
  auto* bytes = static_cast<std::uint8_t*>(mask);
  if (dtype == DType::BFloat16) {
    note_positive(static_cast<const Pack<__nv_bfloat16, kBits>*>(numbers), bytes, count / kBits, device, stream);
  } else {
    note_positive(static_cast<const Pack<__half, kBits>*>(numbers), bytes, count / kBits, device, stream);
  }
}

void enqueue_masking(DType dtype, void* numbers, const void* mask, std::int64_t count,
                     const cohort::cuda::CudaDevice& device, cudaStream_t stream) {
  const auto* bytes = static_cast<const std::uint8_t*>(mask);
  if (dtype == DType::BFloat16) {
    keep_noted(static_cast<Pack<__nv_bfloat16, kBits>*>(numbers), bytes, count / kBits, device, stream);
  } else {
    keep_noted(static_cast<Pack<__half, kBits>*>(numbers), bytes, count / kBits, device, stream);
  }
}

}  // namespace cohort::kernels::cuda
