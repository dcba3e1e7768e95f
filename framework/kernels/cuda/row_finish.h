#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

#include "cohort/core/dtype.h"
#include "cohort/cuda/cuda_device.h"

namespace cohort::kernels::cuda {

// What follows a product or a convolution: each row of what came out gets a bias and an activation, in place, rounded
// between the two as the separate ops do.
class RowFinish {
 public:
  // For elements of `dtype`, by the name of the activation's op, "" for none; the bias may be float32 for half types.
  RowFinish(DType dtype, const std::string& activation, bool has_bias, bool wide_bias);

  explicit operator bool() const { return has_bias_ || activation_ != Activation::None; }
  // The bias has `columns` elements.
  void run(void* values, const void* bias, std::int64_t rows, std::int64_t columns,
           const cohort::cuda::CudaDevice& device, cudaStream_t stream) const;

  enum class Activation { None, Relu, Relu6, Sigmoid, Tanh, Softplus };
  Activation activation() const { return activation_; }
  bool has_bias() const { return has_bias_; }
  bool wide_bias() const { return wide_bias_; }

 private:
  DType dtype_;
  Activation activation_ = Activation::None;
  bool has_bias_, wide_bias_;
};

}  // namespace cohort::kernels::cuda
