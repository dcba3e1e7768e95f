#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cohort/core/dtype.h"
#include "cohort/cuda/cuda_device.h"

namespace cohort::kernels::cuda {

// A bit for each number of a half type, the first one the lowest of its byte: whether it is positive. The count is a
// multiple of 8, and numbers are aligned as memory of tensors is.
void enqueue_relu_mask(DType dtype, const void* numbers, void* mask, std::int64_t count,
                       const cohort::cuda::CudaDevice& device, cudaStream_t stream);
// Makes those numbers 0, in place, whose bit is not set.
void enqueue_masking(DType dtype, void* numbers, const void* mask, std::int64_t count,
                     const cohort::cuda::CudaDevice& device, cudaStream_t stream);

}  // namespace cohort::kernels::cuda
