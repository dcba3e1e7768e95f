#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "cohort/distribute/collective/buffer_blocks.h"
#include "cohort/distribute/collective/exchange.h"
#include "cohort/distribute/collective/shared_heap.h"

namespace cohort::distribute::collective {

// Those of the other ranks, by rank; none for oneself. Empty: not every rank reads those of all others.
using PeerHeaps = std::vector<std::unique_ptr<PeerHeap>>;

// The sum of a large buffer over ranks that read each other's memory. Every rank adds up a block of what all have where
// it lies, and takes the sums of the other blocks from who made them: nothing is copied on its way. The sums are a
// ring's, bit for bit. Used once, by one thread.
class MappedSum {
 public:
  // Where the other ranks have what this one adds up, those behind it first.
  using Places = std::vector<const std::byte*>;

  //   places: lent for its memory.
  MappedSum(Channels& channels, const PeerHeaps& heaps, Places& places, int rank, const CallLabel& label, DType dtype,
            Deadline deadline)
      : channels_(channels),
        heaps_(heaps),
        places_(places),
        rank_(rank),
        label_(label),
        dtype_(dtype),
        deadline_(deadline) {}
  // In place. False, on all ranks, where the buffer of one of them lies elsewhere: nothing was done then.
  bool all_reduce(std::byte* values, std::size_t count);

 private:
  int size() const { return static_cast<int>(channels_.size()); }
  int rank_behind(int steps) const { return (rank_ + steps) % size(); }
  Channel& channel(int rank) { return *channels_[static_cast<std::size_t>(rank)]; }
  bool find_places(const std::byte* values, std::size_t bytes, std::size_t own_offset);
  const std::byte* found(int rank, std::uint64_t place, std::size_t bytes) const;

  Channels& channels_;
  const PeerHeaps& heaps_;
  Places& places_;
  const int rank_;
  const CallLabel label_;
  const DType dtype_;
  const Deadline deadline_;
};

}  // namespace cohort::distribute::collective
