#pragma once

#include <cuda_runtime_api.h>

#include <source_location>

namespace cohort::cuda {

// Throws what a call of CUDA's runtime says went wrong: ResourceExhausted for memory, else Internal, naming the place.
void check(cudaError_t error, std::source_location place = std::source_location::current());

}  // namespace cohort::cuda
