#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cohort/core/dtype.h"
#include "cohort/cuda/cuda_device.h"
#include "cohort/kernels/cuda/conv_sizes.h"

namespace cohort::kernels::cuda {

// Windows that begin two pixels apart, over images of few channels, seen as windows over cells of 2 x 2 pixels that
// begin one cell apart: a cell has the channels of its four pixels and zeros up to a number of channels that libraries
// are fast with. The products are the same ones and zeros: of weights that windows lack, so that a pixel right behind a
// window must be finite as those in it.
struct ConvCells {
  // Whether a convolution of 16-bit numbers can be seen so.
  static bool suits(const ConvSizes& sizes);
  explicit ConvCells(const ConvSizes& sizes);

  // The same convolution over cells, of this many images.
  ConvSizes over_cells(ConvSizes sizes, std::int64_t images) const;
  // Cells of an image.
  std::int64_t cells() const { return cells_down * cells_across; }

  // Images (images, height, width, channels) -> (images, cells down, cells across, wide).
  void enqueue_images(const void* from, void* to, std::int64_t images, const cohort::cuda::CudaDevice& device,
                      cudaStream_t stream) const;
  // Kernels, with the filters in front: (taps, channels, filters) -> (filters, taps over cells, wide).
  void enqueue_filters(const void* from, void* to, const cohort::cuda::CudaDevice& device, cudaStream_t stream) const;
  // And back, the sum of `parts` such kernels that lie `stride` elements apart.
  void enqueue_sum_of_filters(const void* from, void* to, std::int64_t parts, std::int64_t stride, DType dtype,
                              const cohort::cuda::CudaDevice& device, cudaStream_t stream) const;

  std::int64_t channels, wide, filters;
  ConvWindow down, across;  // over pixels
  std::int64_t cells_down, cells_across, taps_down, taps_across;
};

}  // namespace cohort::kernels::cuda
