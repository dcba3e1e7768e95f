#pragma once

#include <cstdint>

#include "cohort/core/kernel.h"
#include "cohort/cuda/cuda_device.h"
#include "cohort/kernels/index_check.h"

namespace cohort::kernels::cuda {

// Indices of any integer type. They are looked at once for a row or so, which is not worth a kernel for each type.
struct Indices {
  const void* memory;
  DType dtype;

  __device__ std::int64_t operator[](std::int64_t i) const {
    switch (dtype) {
      case DType::UInt8:
        return static_cast<const std::uint8_t*>(memory)[i];
      case DType::Int8:
        return static_cast<const std::int8_t*>(memory)[i];
      case DType::Int32:
        return static_cast<const std::int32_t*>(memory)[i];
      default:
        return static_cast<const std::int64_t*>(memory)[i];
    }
  }
};

// Says that an index was refused.
struct IndexCheck {
  cohort::cuda::ErrorRecord* record;
  unsigned int site;

  __device__ void refuse(std::int64_t position, std::int64_t index) const {
    cohort::cuda::report(record, site, position, index);
  }
};

// The rows of a tensor that entries name by `depth` indices each, one for each of the tensor's first axes.
struct Places {
  // For Gather and its like: one index for each entry.
  Places(const KernelSpec& spec, std::int64_t rows, const TensorSpec& indices)
      : Places(spec, {rows}, indices.dtype, 1, indices.shape.num_elements()) {}
  // For positions in the last axis of the indices.
  Places(const KernelSpec& spec, const Shape& target, const TensorSpec& indices)
      : Places(spec, target, indices.dtype, static_cast<int>(indices.shape.back()),
               indices.shape.slice(0, indices.shape.rank() - 1).num_elements()) {}

  // The row of an entry, or -1 where an index was refused.
  __device__ std::int64_t find(const void* memory, std::int64_t entry) const {
    const Indices indices{memory, dtype};
    std::int64_t row = 0;
    for (int d = 0; d < depth; ++d) {
      const std::int64_t index = indices[entry * depth + d];
      if (index < 0 || index >= sizes[d]) {
        check.refuse(entry * depth + d, index);
        return -1;
      }
      row = row * sizes[d] + index;
    }
    return row;
  }

  DType dtype;
  int depth;
  std::int64_t count;
  std::int64_t rows = 1;
  std::int64_t sizes[Shape::kMaxRank] = {};
  IndexCheck check;

 private:
  Places(const KernelSpec& spec, const Shape& target, DType dtype, int depth, std::int64_t count)
      : dtype(dtype), depth(depth), count(count) {
    for (int d = 0; d < depth; ++d) {
      sizes[d] = target[d];
      rows *= target[d];
    }
    cohort::cuda::CudaDevice& device = cohort::cuda::device_of(spec);
    check.record = device.error_record();
    check.site = cohort::cuda::add_check(
        spec, [op = spec.call().op().name(), target, depth](std::int64_t position, std::int64_t index) {
          throw_bad_index(op.c_str(), position, index, target[static_cast<int>(position % depth)]);
        });
  }
};

}  // namespace cohort::kernels::cuda
