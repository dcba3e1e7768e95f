#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cohort/cuda/cuda_device.h"
#include "cohort/kernels/cuda/library_product.h"
#include "cohort/kernels/cuda/product_shape.h"
#include "cohort/kernels/cuda/row_finish.h"

namespace cohort::kernels::cuda {

// Adds up the rows of a matrix.
using ColumnSums = std::function<void(const void* matrix, void* sums, cudaStream_t stream)>;

// What is done beside a product: a bias for each row of what comes out and the activation that follows, by the name of
// its op; or, of a single product, the sums of b's columns; or, of one of a half type with 128 columns or a multiple,
// as a bit for each element, what a relu lets through is noted or let through.
struct ProductFinish {
  enum class Mask { None, Made, Applied };
  std::string activation = {};
  bool has_bias = false;
  bool wide_bias = false;  // float32 for operands of a half type
  DType sums = DType::Float32;
  ColumnSums column_sums = {};  // makes the sums where the product's kernel does not; none: they are not wanted
  Mask mask = Mask::None;
};

// A batch of products made ready: by own kernels where it is small, by cuBLASLt where it has an algorithm, else by
// own kernels again.
class Product {
 public:
  Product(const ProductShape& shape, cohort::cuda::CudaDevice& device, const ProductFinish& finish = {});

  // The matrices as the shape has them; `bias` where the finish has one, an element for each column.
  void run(const void* a, const void* b, void* c, const void* bias, cudaStream_t stream) const;
  // The same with all that the finish has: bias or sums are the vector.
  void run(const ProductMemory& memory, cudaStream_t stream) const;

  // Bytes at the beginning of the workspace that it uses.
  static constexpr std::size_t kWorkspace = LibraryProduct::kWorkspace;

 private:
  std::optional<LibraryProduct> ask_library(const ProductFinish& finish) const;
  // What the library did not do of a run.
  void finish_run(cublasLtEpilogue_t done, const ProductMemory& memory, cudaStream_t stream) const;
  // The mask, where the finish has one.
  void run_mask(const ProductMemory& memory, cudaStream_t stream) const;

  ProductShape shape_;
  cohort::cuda::CudaDevice* device_;
  RowFinish finish_;
  DType sums_;
  ColumnSums column_sums_;
  ProductFinish::Mask mask_;
  bool small_;
  std::optional<LibraryProduct> library_;
};

}  // namespace cohort::kernels::cuda
