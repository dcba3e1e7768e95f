#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "cohort/core/dtype.h"
#include "cohort/cuda/cuda_device.h"

namespace cohort::kernels::cuda {

// Fills memory with numbers of a floating type between 0.5 and 1, positive and negative, no two neighbours alike: as
// busy for the device as what programs multiply.
void enqueue_trial_numbers(DType dtype, void* memory, std::size_t bytes, const cohort::cuda::CudaDevice& device,
                           cudaStream_t stream);

}  // namespace cohort::kernels::cuda
