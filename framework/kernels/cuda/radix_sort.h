#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace cohort::kernels::cuda {

// The most words that can be sorted.
inline constexpr std::int64_t kMostSorted = 0x7fffffff;

// Memory that sorting this many words takes beside the words.
std::size_t radix_sort_bytes(std::int64_t count);

// Sorts words by their bits [first_bit, end_bit), smallest first; those with equal bits keep their order. The only sort
// of large arrays, since each kind of them takes long to compile: whatever is sorted becomes a word whose lower half
// says where it was. `bytes` is what radix_sort_bytes says.
void enqueue_radix_sort(void* memory, std::size_t bytes, const std::uint64_t* from, std::uint64_t* to,
                        std::int64_t count, int first_bit, int end_bit, cudaStream_t stream);

}  // namespace cohort::kernels::cuda
