#pragma once

#include <cublasLt.h>

#include <source_location>

#include "cohort/cuda/cuda_device.h"

namespace cohort::cuda {

// The functions of cuBLASLt, which is loaded on first use.
struct CublasLt {
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtGetVersion) version;
  decltype(&cublasLtGetStatusString) status_text;
  decltype(&cublasLtMatmulDescInit_internal) init_operation;
  decltype(&cublasLtMatmulDescSetAttribute) set_operation;
  decltype(&cublasLtMatrixLayoutInit_internal) init_layout;
  decltype(&cublasLtMatrixLayoutSetAttribute) set_layout;
  decltype(&cublasLtMatmulPreferenceInit_internal) init_preference;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference;
  decltype(&cublasLtMatmulAlgoGetHeuristic) find_algorithms;
  decltype(&cublasLtMatmulAlgoCheck) check_algorithm;
  decltype(&cublasLtMatmul) multiply;

  // Throws Internal, naming the place, unless all is well.
  void check(cublasStatus_t status, std::source_location place = std::source_location::current()) const;
};

// Throws FailedPrecondition where the library is missing.
const CublasLt& cublas_lt();
// The one handle of a device; kernels may be made and run by any thread.
cublasLtHandle_t cublas_lt_handle(const CudaDevice& device);

}  // namespace cohort::cuda
