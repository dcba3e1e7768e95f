#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "cohort/kernels/movement_plans.h"

namespace cohort::kernels::cuda {

// The pointers of parts: each has its own, or all share the first one.
struct PartPointers {
  void* const* memory;
  bool own;

  void* operator[](std::size_t part) const { return memory[own ? part : 0]; }
};

// Copies of parts that have equally many rows: one launch unless there are very many parts.
class PartsCopy {
 public:
  PartsCopy(const std::vector<PartCopy>& parts, std::size_t element_bytes);

  void run(PartPointers from, PartPointers to, cudaStream_t stream) const;

 private:
  using Launch = std::function<void(PartPointers from, PartPointers to, cudaStream_t stream)>;
  std::vector<Launch> make_launches(const std::vector<PartCopy>& parts, std::size_t element_bytes,
                                    std::int64_t elements_of_word) const;

  std::vector<std::size_t> used_;  // parts that have elements
  std::size_t wide_bytes_ = 1;
  std::vector<Launch> wide_, narrow_;  // by elements alone, where pointers are not aligned to the wide words
};

}  // namespace cohort::kernels::cuda
