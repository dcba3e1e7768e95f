#pragma once

#include <cstddef>
#include <span>

#include "cohort/core/buffer.h"
#include "cohort/core/collective.h"
#include "cohort/distribute/collective/communicator.h"

namespace cohort::distribute {

// Of one of the tensors that are reduced together.
std::size_t bytes_of_part(const Collective::Part& part);

// Reduces lists of tensors over the ranks of a communicator: large ones where they lie, small ones of one type
// together. For one thread.
class PackedReduction {
 public:
  explicit PackedReduction(collective::Communicator& workers) : workers_(workers) {}
  // In place; all ranks call it for the same parts.
  void reduce(std::span<const Collective::Part> parts, void* const* values, Collective::Reduction reduction);

 private:
  void reduce_packed(DType dtype, std::span<const Collective::Part> parts, void* const* values,
                     Collective::Reduction reduction);
  void reduce_values(void* values, std::int64_t count, DType dtype, Collective::Reduction reduction);

  collective::Communicator& workers_;
  Owned<Buffer> pack_;  // of the CPU's memory, which other ranks of the host may read
};

}  // namespace cohort::distribute
