#pragma once

#include <cublasLt.h>

#include <optional>
#include <string>

#include "cohort/cuda/cuda_device.h"
#include "cohort/kernels/cuda/product_shape.h"
#include "cohort/kernels/cuda/row_finish.h"

namespace cohort::kernels::cuda {

// What is added to each row of a product, and the activation that follows, by the name of its op.
struct ProductFinish {
  std::string activation = {};
  bool has_bias = false;
  bool wide_bias = false;  // float32 for operands of a half type
};

// A batch of products made ready: by own kernels where it is small, by cuBLASLt where it has an algorithm, else by
// own kernels again.
class Product {
 public:
  Product(const ProductShape& shape, cohort::cuda::CudaDevice& device, const ProductFinish& finish = {});

  // The matrices as the shape has them; `bias` where the finish has one, an element for each column.
  void run(const void* a, const void* b, void* c, const void* bias, cudaStream_t stream) const;

  // Bytes at the beginning of the workspace that it uses.
  static constexpr std::size_t kWorkspace = std::size_t{32} << 20;

 private:
  // The library's plan for the products along one axis of the batch.
  struct Plan {
    cublasLtHandle_t handle;
    cublasLtMatmulDescOpaque_t operation;
    cublasLtMatrixLayoutOpaque_t left, right, result;  // as the library sees them: column-major, so b is on the left
    cublasLtMatmulAlgo_t algorithm;
    bool finishes;
  };
  std::optional<Plan> find_plan(cublasLtEpilogue_t epilogue) const;
  void multiply(const Plan& plan, const void* a, const void* b, void* c, const void* bias, cudaStream_t stream) const;

  ProductShape shape_;
  cohort::cuda::CudaDevice* device_;
  RowFinish finish_;
  bool small_;
  int strided_axis_ = -1;  // of the batch: the products along it are one call
  std::optional<Plan> plan_;
};

}  // namespace cohort::kernels::cuda
