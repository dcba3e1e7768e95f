#pragma once

#include <cstdint>

#include "cohort/kernels/cuda/launch.h"
#include "cohort/kernels/cuda/pieces.h"

namespace cohort::kernels::cuda {

// The flagged ones of n elements, counted and numbered in their order. `flag(i)` is a device function.
class Flagged {
 public:
  Flagged(std::int64_t n, Pieces& memory) : n_(n), tiles_((n + kTile - 1) / kTile) {
    counts_ = memory.add(static_cast<std::size_t>(tiles_ + 1) * sizeof(std::int64_t));
  }

  // Counts them; to be done first.
  template <class Flag>
  void enqueue_count(void* memory, cudaStream_t stream, const Flag& flag) const;
  // How many there are: waits for the stream.
  std::int64_t total(void* memory, cudaStream_t stream) const {
    std::int64_t count = 0;
    cohort::cuda::check(cudaMemcpyAsync(&count, counts(memory) + tiles_, sizeof count, cudaMemcpyDeviceToHost, stream));
    cohort::cuda::check(cudaStreamSynchronize(stream));
    return count;
  }
  // Calls body(i, flagged ones before i, whether i is flagged) for all elements.
  template <class Flag, class Body>
  void enqueue_each(void* memory, cudaStream_t stream, const Flag& flag, const Body& body) const;

  static constexpr int kPerThread = 8;
  static constexpr int kTile = kBlock * kPerThread;

 private:
  static constexpr std::int64_t kMostBlocks = 1 << 16;

  std::int64_t* counts(void* memory) const {
    return reinterpret_cast<std::int64_t*>(static_cast<char*>(memory) + counts_);
  }
  int blocks() const { return static_cast<int>(std::min(tiles_, kMostBlocks)); }

  std::int64_t n_, tiles_;
  std::size_t counts_;
};

// The sum of the counts of the threads before this one, and of all: both for all threads of a block of kBlock.
__device__ inline int count_before(int count, int& total) {
  constexpr int kWarp = 32, kWarps = kBlock / kWarp;
  __shared__ int sums[kWarps];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  int until = count;
  for (int distance = 1; distance < kWarp; distance *= 2) {
    const int other = __shfl_up_sync(0xffffffff, until, distance);
    if (lane >= distance) until += other;
  }
  __syncthreads();
  if (lane == kWarp - 1) sums[warp] = until;
  __syncthreads();
  int before = until - count;
  total = 0;
  for (int w = 0; w < kWarps; ++w) {
    if (w < warp) before += sums[w];
    total += sums[w];
  }
  return before;
}

template <class Flag>
__global__ void __launch_bounds__(kBlock)
    count_flagged(std::int64_t n, std::int64_t tiles, Flag flag, std::int64_t* counts) {
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    int own = 0;
    for (int k = 0; k < Flagged::kPerThread; ++k) {
      const std::int64_t i = tile * Flagged::kTile + k * kBlock + threadIdx.x;
      own += i < n && flag(i);
    }
    int total = 0;
    count_before(own, total);
    if (threadIdx.x == 0) counts[tile] = total;
  }
}

// Turns the counts of tiles into what lies before each; the last one is the total. One block.
static __global__ void __launch_bounds__(kBlock) add_up_tiles(std::int64_t tiles, std::int64_t* counts) {
  std::int64_t sum = 0;
  for (std::int64_t first = 0; first < tiles; first += kBlock) {
    const std::int64_t tile = first + threadIdx.x;
    int total = 0;
    const int before = count_before(tile < tiles ? static_cast<int>(counts[tile]) : 0, total);
    if (tile < tiles) counts[tile] = sum + before;
    sum += total;
  }
  if (threadIdx.x == 0) counts[tiles] = sum;
}

template <class Flag, class Body>
__global__ void __launch_bounds__(kBlock)
    each_flagged(std::int64_t n, std::int64_t tiles, Flag flag, Body body, const std::int64_t* counts) {
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    std::int64_t before = counts[tile];
    for (int k = 0; k < Flagged::kPerThread; ++k) {
      const std::int64_t i = tile * Flagged::kTile + k * kBlock + threadIdx.x;
      const bool set = i < n && flag(i);
      int total = 0;
      const int own = count_before(set, total);
      if (i < n) body(i, before + own, set);
      before += total;
    }
  }
}

template <class Flag>
void Flagged::enqueue_count(void* memory, cudaStream_t stream, const Flag& flag) const {
  if (tiles_ > 0) {
    count_flagged<<<blocks(), kBlock, 0, stream>>>(n_, tiles_, flag, counts(memory));
    cohort::cuda::check(cudaGetLastError());
  }
  add_up_tiles<<<1, kBlock, 0, stream>>>(tiles_, counts(memory));
  cohort::cuda::check(cudaGetLastError());
}

template <class Flag, class Body>
void Flagged::enqueue_each(void* memory, cudaStream_t stream, const Flag& flag, const Body& body) const {
  if (tiles_ == 0) return;
  each_flagged<<<blocks(), kBlock, 0, stream>>>(n_, tiles_, flag, body, counts(memory));
  cohort::cuda::check(cudaGetLastError());
}

}  // namespace cohort::kernels::cuda
