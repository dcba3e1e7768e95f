#pragma once

#include <cstdint>

#include "cohort/cuda/cuda_device.h"

namespace cohort::kernels::cuda {

// Attention keeps two numbers for each of n rows of scores: the largest and one over the sum of the exponentials from
// there. cuDNN keeps one, the logarithm of the sum of exponentials, which is a pair with the factor 1.
void enqueue_rows_of_logarithms(const float* logarithms, float* rows, std::int64_t n,
                                const cohort::cuda::CudaDevice& device, cudaStream_t stream);
void enqueue_logarithms_of_rows(const float* rows, float* logarithms, std::int64_t n,
                                const cohort::cuda::CudaDevice& device, cudaStream_t stream);

// The same numbers of steps and of keys for each sample.
void enqueue_lengths(std::int32_t* steps_of, std::int32_t* keys_of, std::int64_t batch, std::int64_t steps,
                     std::int64_t keys, const cohort::cuda::CudaDevice& device, cudaStream_t stream);

}  // namespace cohort::kernels::cuda
