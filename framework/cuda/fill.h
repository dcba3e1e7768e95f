#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace cohort::cuda {

// Writes the lowest 1, 2, 4 or 8 bytes of `bits` `count` times.
void enqueue_fill(void* target, std::uint64_t bits, std::size_t element_bytes, std::size_t count, cudaStream_t stream);

}  // namespace cohort::cuda
