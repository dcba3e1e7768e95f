#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace cohort::kernels::cuda {

// Writes a row-major matrix of rows x columns, with elements of 2, 4 or 8 bytes, the other way round.
void enqueue_transpose(const void* from, void* to, std::int64_t rows, std::int64_t columns, std::size_t element_bytes,
                       cudaStream_t stream);

}  // namespace cohort::kernels::cuda
