#include "cohort/kernels/cuda/radix_sort.h"

#include <algorithm>
#include <cub/device/device_radix_sort.cuh>

#include "cohort/cuda/check.h"

namespace cohort::kernels::cuda {

std::size_t radix_sort_bytes(std::int64_t count) {
  std::size_t bytes = 0;
  const std::uint64_t* from = nullptr;
  std::uint64_t* to = nullptr;
  cohort::cuda::check(cub::DeviceRadixSort::SortKeys(nullptr, bytes, from, to,
                                                     static_cast<unsigned int>(std::max<std::int64_t>(count, 1))));
  return bytes;
}

void enqueue_radix_sort(void* memory, std::size_t bytes, const std::uint64_t* from, std::uint64_t* to,
                        std::int64_t count, int first_bit, int end_bit, cudaStream_t stream) {
  cohort::cuda::check(cub::DeviceRadixSort::SortKeys(memory, bytes, from, to, static_cast<unsigned int>(count),
                                                     first_bit, end_bit, stream));
}

}  // namespace cohort::kernels::cuda
