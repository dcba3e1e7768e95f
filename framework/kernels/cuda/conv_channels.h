#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cohort/cuda/cuda_device.h"

namespace cohort::kernels::cuda {

// Copies for a library whose kernels want a number of channels that 16-bit images and kernels do not have: there are
// `wide` channels, 4 or 8, of which the last ones are zeros.

// Images: (pixels, channels) -> (pixels, wide).
void enqueue_wide_pixels(const void* from, void* to, std::int64_t pixels, std::int64_t channels, std::int64_t wide,
                         const cohort::cuda::CudaDevice& device, cudaStream_t stream);
// Kernels, with the filters in front: (taps, channels, filters) -> (filters, taps, wide).
void enqueue_wide_filters(const void* from, void* to, std::int64_t taps, std::int64_t channels, std::int64_t wide,
                          std::int64_t filters, const cohort::cuda::CudaDevice& device, cudaStream_t stream);
// And back: (filters, taps, wide) -> (taps, channels, filters).
void enqueue_narrow_filters(const void* from, void* to, std::int64_t taps, std::int64_t channels, std::int64_t wide,
                            std::int64_t filters, const cohort::cuda::CudaDevice& device, cudaStream_t stream);

}  // namespace cohort::kernels::cuda
