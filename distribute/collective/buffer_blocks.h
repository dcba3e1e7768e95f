#pragma once

#include <algorithm>
#include <cstddef>

#include "cohort/core/dtype.h"

namespace cohort::distribute::collective {

// A buffer cut into a block for each rank, and blocks into chunks. Blocks at the end may be shorter, or empty.
struct BufferBlocks {
  struct Piece {
    std::size_t offset, bytes;
  };
  // So many values for all ranks together. Blocks begin at multiples of 64 values, for the sake of vectors.
  static BufferBlocks shared(std::size_t count, int ranks, DType dtype, std::size_t chunk_bytes) {
    constexpr std::size_t kAlignment = 64;
    const std::size_t unit = static_cast<std::size_t>(ranks) * kAlignment;
    return {count * size_of(dtype), (count + unit - 1) / unit * kAlignment * size_of(dtype), chunk_bytes};
  }
  // So many for each rank.
  static BufferBlocks of_ranks(std::size_t count, int ranks, DType dtype, std::size_t chunk_bytes) {
    return {count * static_cast<std::size_t>(ranks) * size_of(dtype), count * size_of(dtype), chunk_bytes};
  }

  // Of a block.
  std::size_t chunks() const { return (block_bytes + chunk_bytes - 1) / chunk_bytes; }
  Piece piece(int block, std::size_t chunk) const {
    const std::size_t begin = static_cast<std::size_t>(block) * block_bytes + chunk * chunk_bytes;
    const std::size_t block_end = (static_cast<std::size_t>(block) + 1) * block_bytes;
    const std::size_t end = std::min({begin + chunk_bytes, block_end, all_bytes});
    return {begin, end > begin ? end - begin : 0};
  }

  std::size_t all_bytes = 0, block_bytes = 0, chunk_bytes = 1;
};

}  // namespace cohort::distribute::collective
