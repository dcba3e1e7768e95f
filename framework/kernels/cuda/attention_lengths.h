#pragma once

#include <cstdint>

#include "cohort/cuda/cuda_device.h"

namespace cohort::kernels::cuda {

// The same numbers of steps and of keys for each sample.
void enqueue_lengths(std::int32_t* steps_of, std::int32_t* keys_of, std::int64_t batch, std::int64_t steps,
                     std::int64_t keys, const cohort::cuda::CudaDevice& device, cudaStream_t stream);

}  // namespace cohort::kernels::cuda
