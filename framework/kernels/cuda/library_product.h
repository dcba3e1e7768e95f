#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cohort/cuda/cuda_device.h"
#include "cohort/kernels/cuda/product_shape.h"

namespace cohort::kernels::cuda {

// The memory of a batch of products, and of what is done beside them: a bias, or sums that are made; the mask of a
// relu.
struct ProductMemory {
  const void *a = nullptr, *b = nullptr;
  void *c = nullptr, *vector = nullptr, *mask = nullptr;
};

// A batch of products as cuBLASLt is asked for it, with what the library does beside it; one of its algorithms must be
// taken before it runs. The products along one axis of the batch, the longest, are one call.
class LibraryProduct {
 public:
  // `vector` is the type of the bias that the epilogue adds, or of the sums that it makes.
  LibraryProduct(const ProductShape& shape, cublasLtEpilogue_t epilogue, DType vector,
                 cohort::cuda::CudaDevice& device);

  // Up to so many algorithms that do it, in the order in which the library likes them.
  std::vector<cublasLtMatmulAlgo_t> algorithms(int most) const;
  // Whether an algorithm that was kept does it, by the library's own check.
  bool accepts(const cublasLtMatmulAlgo_t& algorithm) const;
  void take(const cublasLtMatmulAlgo_t& algorithm) { algorithm_ = algorithm; }

  const ProductShape& shape() const { return shape_; }
  // What the library does beside the product.
  cublasLtEpilogue_t epilogue() const { return epilogue_; }
  // Whether an epilogue makes or applies the mask of a relu.
  static bool has_mask(cublasLtEpilogue_t epilogue);
  // How many calls a run is.
  std::int64_t calls() const;
  // All that the speed of an algorithm depends on, but for the device.
  std::string key() const;

  // The matrices as the shape has them, aligned to kAlignment; vector and mask where the epilogue has them.
  void run(const ProductMemory& memory, cudaStream_t stream) const;
  // The same; whether the library did it.
  bool try_run(const ProductMemory& memory, cudaStream_t stream) const;

  // Of the memory of all matrices; no kernel of the library asks for more.
  static constexpr std::uint32_t kAlignment = 16;
  // Bytes at the beginning of the device's workspace that it uses, to be reserved before.
  static constexpr std::size_t kWorkspace = std::size_t{32} << 20;

 private:
  // Calls body(a, b, c) with the first elements of each call.
  template <class Body>
  void for_each_call(const Body& body) const;
  void describe_operation();
  void describe_matrices();
  cublasStatus_t multiply(const ProductMemory& memory, cudaStream_t stream) const;

  // What the first elements of the matrices of all calls are aligned to.
  struct Alignment {
    std::uint32_t a = kAlignment, b = kAlignment, c = kAlignment;
  };
  Alignment alignment() const;

  ProductShape shape_;
  cublasLtEpilogue_t epilogue_;
  DType vector_;
  cohort::cuda::CudaDevice* device_;
  cublasLtHandle_t handle_;
  int strided_axis_ = -1;  // of the batch
  cublasLtMatmulDescOpaque_t operation_ = {};
  cublasLtMatrixLayoutOpaque_t left_ = {}, right_ = {}, result_ = {};  // column-major, so b is on the left
  cublasLtMatmulAlgo_t algorithm_ = {};
};

}  // namespace cohort::kernels::cuda
