#pragma once

#include <cstdint>

#include "cohort/kernels/cuda/element.h"
#include "cohort/kernels/cuda/groups.h"
#include "cohort/kernels/cuda/launch.h"

namespace cohort::kernels::cuda {

// Threads that share the parts of an element between them.
inline constexpr int kPartShares = 16;

// Where sums go: the first elements to one tensor, those behind them to another.
template <class T>
struct PartsTarget {
  T* first;
  std::int64_t first_elements;
  T* second = nullptr;
  std::int64_t second_elements = 0;

  __host__ __device__ std::int64_t elements() const { return first_elements + second_elements; }
  __device__ T& operator[](std::int64_t i) const { return i < first_elements ? first[i] : second[i - first_elements]; }
};

// A block takes as many neighbouring elements as a warp has threads; the order of each sum depends on the number of
// parts alone.
template <class T>
__global__ void __launch_bounds__(kWarp* kPartShares)
    add_parts(const Compute<T>* __restrict__ from, PartsTarget<T> to, std::int64_t parts) {
  __shared__ Compute<T> sums[kPartShares][kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, share = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t element = static_cast<std::int64_t>(blockIdx.x) * kWarp + lane, elements = to.elements();
  Compute<T> sum = 0;
  if (element < elements) {
#pragma unroll 8
    for (std::int64_t part = share; part < parts; part += kPartShares) sum += from[part * elements + element];
  }
  sums[share][lane] = sum;
  __syncthreads();
  if (share > 0 || element >= elements) return;
#pragma unroll
  for (int other = 1; other < kPartShares; ++other) sum += sums[other][lane];
  to[element] = narrowed<T>(sum);
}

// Adds up parts that lie one after the other, each with all elements of the target; of none of them, zeros.
template <class T>
void enqueue_sum_of_parts(const Compute<T>* from, const PartsTarget<T>& to, std::int64_t parts, cudaStream_t stream) {
  if (to.elements() == 0) return;
  const auto blocks = static_cast<unsigned int>((to.elements() + kWarp - 1) / kWarp);
  add_parts<T><<<blocks, kWarp * kPartShares, 0, stream>>>(from, to, parts);
  cohort::cuda::check(cudaGetLastError());
}

}  // namespace cohort::kernels::cuda
