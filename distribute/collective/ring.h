#pragma once

#include <cstddef>

#include "cohort/distribute/collective/buffer_blocks.h"
#include "cohort/distribute/collective/channel.h"

namespace cohort::distribute::collective {

// One call that goes round the ring of all ranks: every rank receives from its left neighbour and sends to its right
// one. The buffer is cut into a block per rank and blocks into chunks, a few of which are under way at a time; a sum
// goes from rank to rank in the chunks and is written to the buffer only once it is complete. Block b is added up in
// the order b + 1, b + 2, ..., b, whatever the speed of the ranks. Used once, by one thread.
class Ring {
 public:
  Ring(Channel& left, Channel& right, int rank, int size, std::size_t chunk_bytes, const CallLabel& label, DType dtype,
       Deadline deadline);
  // In place.
  void all_reduce(std::byte* values, std::size_t count);
  // `all` has a block of `count` values for each rank; the sum of this rank's goes to `mine`.
  void reduce_scatter(const std::byte* all, std::byte* mine, std::size_t count);
  // Its own block is in `all` before, those of the others after.
  void all_gather(std::byte* all, std::size_t count);
  // From rank to rank, beginning at the root.
  void broadcast(std::byte* values, std::size_t count, int root);

 private:
  using Piece = BufferBlocks::Piece;
  Piece piece(int block, std::size_t chunk) const { return blocks_.piece(block, chunk); }
  template <class Visit>
  void for_each_group(const Visit& visit) const;
  int block_before(int steps) const;

  void send_copy(const std::byte* from, std::size_t bytes);
  void start(const std::byte* values, int block, std::size_t first, std::size_t last);
  void reduce(const std::byte* values, std::byte* sums, std::size_t first, std::size_t last, bool gathers);
  void gather(std::byte* values, std::size_t first, std::size_t last);

  Channel &left_, &right_;
  const int rank_, size_;
  const std::size_t chunk_bytes_;  // the same on all ranks
  const CallLabel label_;
  const DType dtype_;
  const Deadline deadline_;
  BufferBlocks blocks_;
};

}  // namespace cohort::distribute::collective
