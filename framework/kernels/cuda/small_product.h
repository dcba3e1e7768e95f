#pragma once

#include <cuda_runtime_api.h>

#include "cohort/cuda/cuda_device.h"
#include "cohort/kernels/cuda/product_shape.h"
#include "cohort/kernels/cuda/row_finish.h"

namespace cohort::kernels::cuda {

// Whether products are of a type and so small that what counts is how soon they are done: one launch of own blocks is
// then quicker than the library's, which may take several.
bool is_small_product(const ProductShape& shape);

// Where the sums of b's columns go, beside a single product; null for none.
struct SmallSums {
  void* memory = nullptr;
  bool wide = false;  // float32 for operands of a half type
};

// Such products with what is done beside them, in one launch; everything in float32, rounded once.
void enqueue_small_product(const ProductShape& shape, const RowFinish& finish, const void* a, const void* b, void* c,
                           const void* bias, const SmallSums& sums, const cohort::cuda::CudaDevice& device,
                           cudaStream_t stream);

}  // namespace cohort::kernels::cuda
