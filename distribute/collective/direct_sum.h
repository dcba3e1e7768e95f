#pragma once

#include <cstddef>
#include <vector>

#include "cohort/distribute/collective/buffer_blocks.h"
#include "cohort/distribute/collective/exchange.h"

namespace cohort::distribute::collective {

// The sum of a large buffer over ranks that all reach each other through shared memory. Every rank adds up a block:
// what the others have of it comes to it at once, and its sum goes to all. As many bytes are on the way as in a ring,
// and the sums are the same, bit for bit; but a ring waits for each rank in its turn, which is dear where ranks share
// cores. Used once, by one thread.
class DirectSum {
 public:
  DirectSum(Channels& channels, int rank, const CallLabel& label, DType dtype, Deadline deadline)
      : channels_(channels), rank_(rank), label_(label), dtype_(dtype), deadline_(deadline) {}
  // In place.
  void all_reduce(std::byte* values, std::size_t count);

 private:
  int size() const { return static_cast<int>(channels_.size()); }
  int rank_behind(int steps) const { return (rank_ + steps) % size(); }
  Channel& channel(int rank) { return *channels_[static_cast<std::size_t>(rank)]; }
  void send(int rank, const std::byte* values, const BufferBlocks::Piece& piece);
  void add_up_group(std::byte* values, std::size_t first, std::size_t last);
  void add_up_chunk(std::byte* values, const BufferBlocks::Piece& piece);

  Channels& channels_;
  const int rank_;
  const CallLabel label_;
  const DType dtype_;
  const Deadline deadline_;
  BufferBlocks blocks_;
  std::vector<const std::byte*> came_;  // of a chunk, from each of the others
};

}  // namespace cohort::distribute::collective
