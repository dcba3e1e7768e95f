#include <algorithm>

#include "cohort/cuda/check.h"
#include "cohort/cuda/loop_turns.h"

namespace cohort::cuda {
namespace {

constexpr int kBlock = 128;
constexpr std::size_t kMostBlocks = 1024;

__global__ void write_turns(RandomState* turns, const RandomState* loop, std::size_t count) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    turns[i] = turn_of(*loop, i);
  }
}

}  // namespace

void enqueue_turns(RandomState* turns, const RandomState* loop, std::size_t count, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned int>(std::min((count + kBlock - 1) / kBlock, kMostBlocks));
  write_turns<<<blocks, kBlock, 0, stream>>>(turns, loop, count);
  check(cudaGetLastError());
}

}  // namespace cohort::cuda
