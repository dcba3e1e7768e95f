#pragma once

#include <cstddef>

namespace cohort {

// Where the CPU's devices take large blocks of memory from. Thread-safe.
class LargeBlocks {
 public:
  virtual ~LargeBlocks() = default;
  // At the start of a page; nullptr where nothing is left.
  virtual void* take(std::size_t bytes) noexcept = 0;
  // False for what was not taken here.
  virtual bool give_back(void* memory, std::size_t bytes) noexcept = 0;

  // Of this process; nullptr: the system's own, which no other process sees.
  static LargeBlocks* source();
  // For all blocks from now on, as long as the process lives.
  static void set_source(LargeBlocks& blocks);
};

}  // namespace cohort
