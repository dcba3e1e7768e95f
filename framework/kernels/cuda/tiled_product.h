#pragma once

#include <cuda_runtime_api.h>

#include "cohort/cuda/cuda_device.h"
#include "cohort/kernels/cuda/product_shape.h"

namespace cohort::kernels::cuda {

// Products of any type of numbers, of which half types may give float32; sums of half types in float32, integers wrap
// around.
void enqueue_tiled_product(const ProductShape& shape, const void* a, const void* b, void* c, cudaStream_t stream);

// Rounds float32 numbers to a half type.
void enqueue_rounding(DType half, const void* from, void* to, std::int64_t count,
                      const cohort::cuda::CudaDevice& device, cudaStream_t stream);

}  // namespace cohort::kernels::cuda
