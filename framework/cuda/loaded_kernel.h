#pragma once

#include <string>

#include "cohort/cuda/cuda_device.h"

namespace cohort::cuda {

// What cudaLaunchKernel takes in place of a function compiled ahead of time.
using LoadedKernel = const void*;

// The kernel of this name in a program that may include program_headers(), compiled for the device and ready to run
// there. The same program is loaded once and stays. To be called when a kernel is made. Thread-safe.
LoadedKernel loaded_kernel(const std::string& text, const char* name, const CudaDevice& device);

}  // namespace cohort::cuda
