#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cohort/core/buffer.h"
#include "cohort/distribute/rpc/shared_memory.h"

namespace cohort::distribute::rpc {

// Where one side of a stream lays down the tensors of its large messages, in memory that the other side maps, too: they
// are used there, and the block is free again when the last of them is gone. The other side may write anything into it;
// where blocks lie is known to their owner alone, and what the other side tells of one is checked.
class SharedBlocks {
 public:
  static constexpr std::uint64_t kBytes = std::uint64_t{64} << 20;  // taken from the system as far as they are used
  static constexpr std::uint32_t kMost = 64;                        // blocks at a time

  struct Place {
    std::uint32_t number = 0;
    std::uint64_t offset = 0, bytes = 0;
  };
  struct Counts {
    struct Block {
      alignas(64) std::atomic<std::uint32_t> is_held;
    };
    Block blocks[kMost];
  };

  // The owner's side of `memory`; counts and blocks are of zeros at first.
  SharedBlocks(std::shared_ptr<SharedMemory> memory, Counts& counts, std::byte* blocks)
      : memory_(std::move(memory)), counts_(counts), blocks_(blocks) {}

  // The owner's: a block for so many bytes, which the other side holds from then on; nothing where none is free.
  std::optional<Place> give(std::uint64_t bytes);
  char* at(const Place& place) const { return reinterpret_cast<char*>(blocks_ + place.offset); }
  // The other side's: the block, to be let go of with the buffer; nullptr where there cannot be one.
  Owned<Buffer> hold(const Place& place) const;

 private:
  void take_back();

  const std::shared_ptr<SharedMemory> memory_;
  Counts& counts_;
  std::byte* const blocks_;
  std::vector<Place> given_;  // one behind the other
};

}  // namespace cohort::distribute::rpc
