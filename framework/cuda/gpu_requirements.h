#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

namespace cohort::cuda {

// "13.0" for 13000, as CUDA counts its versions.
std::string cuda_version_text(int version);

// How many GPUs the driver shows; throws FailedPrecondition where there is none, or one that is too old.
int count_gpus();
// The same, given what the driver's version (0: no driver), its answer and the count are.
int checked_gpu_count(int driver, cudaError_t answer, int count);
// Throws NotFound for a number that no GPU has.
void check_gpu_exists(int index, int count);

// Why a GPU cannot be used, given what it is; empty when it can.
std::string gpu_problem(const cudaDeviceProp& properties);
// Throws FailedPrecondition for a GPU that cannot be used.
void check_gpu(const std::string& device, const cudaDeviceProp& properties);
// Throws ResourceExhausted where others have left less than a device takes to begin with.
void check_free_memory(const std::string& device, std::size_t free, std::size_t total);

}  // namespace cohort::cuda
