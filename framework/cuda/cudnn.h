#pragma once

#include <cudnn_graph.h>

#include <source_location>

#include "cohort/cuda/cuda_device.h"

namespace cohort::cuda {

// The functions of cuDNN's graphs, which is loaded on first use.
struct Cudnn {
  void* library;  // its handle, for who looks functions up by themselves
  decltype(&cudnnCreate) create;
  decltype(&cudnnSetStream) set_stream;
  decltype(&cudnnGetErrorString) status_text;
  decltype(&cudnnBackendCreateDescriptor) create_descriptor;
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor;
  decltype(&cudnnBackendSetAttribute) set_attribute;
  decltype(&cudnnBackendGetAttribute) get_attribute;
  decltype(&cudnnBackendFinalize) finalize;
  decltype(&cudnnBackendExecute) execute;

  // Throws Internal, naming the place, unless all is well.
  void check(cudnnStatus_t status, std::source_location place = std::source_location::current()) const;
};

// Throws FailedPrecondition where the library is missing.
const Cudnn& cudnn();
// The one handle of a device, whose work goes to the stream that the device's kernels are put into.
cudnnHandle_t cudnn_handle(const CudaDevice& device);

}  // namespace cohort::cuda
