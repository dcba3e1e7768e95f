#include <algorithm>

#include "cohort/cuda/check.h"
#include "cohort/cuda/fill.h"

namespace cohort::cuda {
namespace {

constexpr int kBlock = 256;
constexpr std::size_t kMostBlocks = 4096;

template <class Word>
__global__ void write_words(Word* target, Word word, std::size_t count) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    target[i] = word;
  }
}

template <class Word>
void launch(void* target, std::uint64_t bits, std::size_t count, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned int>(std::min((count + kBlock - 1) / kBlock, kMostBlocks));
  write_words<<<blocks, kBlock, 0, stream>>>(static_cast<Word*>(target), static_cast<Word>(bits), count);
  check(cudaGetLastError());
}

}  // namespace

void enqueue_fill(void* target, std::uint64_t bits, std::size_t element_bytes, std::size_t count, cudaStream_t stream) {
  switch (element_bytes) {
    case 1:
      return check(cudaMemsetAsync(target, static_cast<int>(bits & 0xff), count, stream));
    case 2:
      return launch<std::uint16_t>(target, bits, count, stream);
    case 4:
      return launch<std::uint32_t>(target, bits, count, stream);
    default:
      return launch<std::uint64_t>(target, bits, count, stream);
  }
}

}  // namespace cohort::cuda
