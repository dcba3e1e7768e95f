#include <algorithm>

#include "cohort/cuda/check.h"
#include "cohort/cuda/fill.h"

namespace cohort::cuda {
namespace {

constexpr int kBlock = 256;
constexpr std::size_t kMostBlocks = 4096;

// `wides` words of 16 bytes from the front, then single ones up to `count`.
template <class Word>
__global__ void write_words(Word* target, Word word, std::size_t count, uint4 wide, std::size_t wides) {
  constexpr std::size_t kWordsOfWide = sizeof(uint4) / sizeof(Word);
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (std::size_t i = first; i < wides; i += stride) reinterpret_cast<uint4*>(target)[i] = wide;
  for (std::size_t i = wides * kWordsOfWide + first; i < count; i += stride) target[i] = word;
}

template <class Word>
void launch(void* target, std::uint64_t bits, std::size_t count, cudaStream_t stream) {
  const auto word = static_cast<Word>(bits);
  std::uint64_t repeated = word;
  for (std::size_t bytes = sizeof(Word); bytes < sizeof repeated; bytes *= 2) repeated |= repeated << (8 * bytes);
  const auto low = static_cast<unsigned int>(repeated), high = static_cast<unsigned int>(repeated >> 32);
  const bool aligned = reinterpret_cast<std::uintptr_t>(target) % sizeof(uint4) == 0;
  const std::size_t wides = aligned ? count * sizeof(Word) / sizeof(uint4) : 0;
  const std::size_t most = wides > 0 ? wides : count;
  const auto blocks = static_cast<unsigned int>(std::min((most + kBlock - 1) / kBlock, kMostBlocks));
  write_words<<<blocks, kBlock, 0, stream>>>(static_cast<Word*>(target), word, count, make_uint4(low, high, low, high),
                                             wides);
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
