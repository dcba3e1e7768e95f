#pragma once

#include <algorithm>
#include <cstdint>

#include "cohort/cuda/check.h"
#include "cohort/cuda/cuda_device.h"
#include "cohort/kernels/cuda/stream.h"

namespace cohort::kernels::cuda {

// Threads of a block where nothing speaks for another number.
inline constexpr int kBlock = 256;

// Elements [first, ..) of n, `stride` apart, that a thread of a one-dimensional grid takes.
#define COHORT_EACH(i, n)                                                                 \
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x, \
                    cohort_stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;    \
       i < (n); i += cohort_stride)

template <class Body>
__global__ void __launch_bounds__(kBlock) each_element(std::int64_t n, Body body) {
  COHORT_EACH(i, n) body(i);
}

// Blocks that fill the GPU a few times over, no more than n elements need.
inline int blocks_for(std::int64_t n, const cohort::cuda::CudaDevice& device) {
  constexpr int kBlocksOfAMultiprocessor = 8;
  const std::int64_t wanted = (n + kBlock - 1) / kBlock;
  return static_cast<int>(std::clamp<std::int64_t>(
      wanted, 1, static_cast<std::int64_t>(device.multiprocessors()) * kBlocksOfAMultiprocessor));
}

// Runs `body(i)`, a device lambda, for i in [0, n).
template <class Body>
void launch_each(std::int64_t n, const cohort::cuda::CudaDevice& device, cudaStream_t stream, const Body& body) {
  if (n == 0) return;
  each_element<<<blocks_for(n, device), kBlock, 0, stream>>>(n, body);
  cohort::cuda::check(cudaGetLastError());
}

}  // namespace cohort::kernels::cuda
