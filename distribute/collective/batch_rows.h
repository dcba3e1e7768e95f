#pragma once

#include <cstdint>
#include <optional>

#include "cohort/core/tensor.h"
#include "cohort/data/dataset.h"

namespace cohort::distribute {

// Samples of a batch: rows of its first tensor that has any.
inline std::int64_t rows_of_batch(const Tensors& batch) {
  for (const Tensor& leaf : batch) {
    if (leaf.rank() > 0) return leaf.shape()[0];
  }
  return 1;
}

// How many rows of a global batch a replica takes: as even as can be, the first ones take those left over.
inline std::int64_t rows_of_replica(std::int64_t rows, std::int64_t replicas, std::int64_t replica) {
  return rows / replicas + (replica < rows % replicas ? 1 : 0);
}

// The rows of several parts of a result on the host, in order; of scalars, which have none, the first.
Tensor joined_rows(const Tensors& parts);

// The size of the batches that a dataset ends in, where its last stages leave batches as they are and in order.
std::optional<std::int64_t> batch_size_of(const Dataset& dataset);

}  // namespace cohort::distribute
