#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/core/kernel.h"

namespace cohort::kernels::cuda {

// A FusedElementwise node, not of empty tensors, as the text of a CUDA program with one kernel, `fused`, and what it
// must be given. Sizes are arguments, so that one program serves all shapes that are broadcast alike.
class FusedSource {
 public:
  explicit FusedSource(const KernelSpec& spec);

  const std::string& text() const { return text_; }
  // Elements of an output.
  std::int64_t total() const { return total_; }
  // Elements that a thread takes at once where all memory is aligned; the rest it takes one by one.
  int per_access() const { return per_access_; }
  // Threads of a block, and what the number of blocks must be a multiple of: then a thread meets the same elements of
  // broadcast rows over and over, and reads them once.
  static constexpr std::int64_t kThreads = 256;
  std::int64_t blocks_multiple() const { return blocks_multiple_; }

  // The kernel's argument, a struct of words of 8 bytes: pointers of the inputs, those of the outputs, packs, elements,
  // then these, the same for every call.
  const std::vector<std::uint64_t>& sizes() const { return sizes_; }
  // Inputs, then outputs, that are accessed in packs, and the alignment that takes.
  struct PackedAccess {
    int argument;
    int alignment;
  };
  const std::vector<PackedAccess>& packed_accesses() const { return packed_accesses_; }

 private:
  class Writer;

  std::string text_;
  std::int64_t total_ = 0;
  int per_access_ = 1;
  std::int64_t blocks_multiple_ = 1;
  std::vector<std::uint64_t> sizes_;
  std::vector<PackedAccess> packed_accesses_;
};

}  // namespace cohort::kernels::cuda
