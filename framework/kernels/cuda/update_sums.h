#pragma once

#include "cohort/kernels/cuda/launch.h"

namespace cohort::kernels::cuda {

// The sum of a warp's numbers, for all its threads.
__device__ inline double add_up_warp(double sum) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  return sum;
}

// Adds up the numbers of all threads of a block of kBlock, in an order that is always the same; the sums are thread
// 0's.
template <int kCount>
__device__ void add_up_block(double (&sums)[kCount]) {
  __shared__ double of_warps[kBlock / 32][kCount];
#pragma unroll
  for (int k = 0; k < kCount; ++k) sums[k] = add_up_warp(sums[k]);
  if (threadIdx.x % 32 == 0) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) of_warps[threadIdx.x / 32][k] = sums[k];
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int warp = 1; warp < kBlock / 32; ++warp) {
#pragma unroll
      for (int k = 0; k < kCount; ++k) sums[k] += of_warps[warp][k];
    }
  }
}

}  // namespace cohort::kernels::cuda
