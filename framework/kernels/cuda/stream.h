#pragma once

#include <cuda_runtime_api.h>

#include "cohort/core/kernel.h"

namespace cohort::kernels::cuda {

// Where a kernel puts its work.
inline cudaStream_t stream_of(const KernelIO& io) { return static_cast<cudaStream_t>(io.stream); }

}  // namespace cohort::kernels::cuda
