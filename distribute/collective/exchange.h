#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "cohort/distribute/collective/channel.h"

namespace cohort::distribute::collective {

// The channel to each rank; none to oneself.
using Channels = std::vector<std::unique_ptr<Channel>>;

// What a rank sends to another in a call of few bytes goes in one chunk.
inline constexpr std::size_t kSmallCall = std::size_t{64} << 10;

// One call in which every rank sends to every other one at once: one hop, for buffers of at most kSmallCall bytes. Sums
// are added up in the order of the ranks. Used once, by one thread.
class Exchange {
 public:
  Exchange(Channels& channels, int rank, const CallLabel& label, DType dtype, Deadline deadline)
      : channels_(channels), rank_(rank), label_(label), dtype_(dtype), deadline_(deadline) {}
  // In place.
  void all_reduce(std::byte* values, std::size_t bytes);
  // `all` has a block of so many bytes for each rank; the sum of this rank's goes to `mine`.
  void reduce_scatter(const std::byte* all, std::byte* mine, std::size_t bytes);
  // Its own block is in `all` before, those of the others after.
  void all_gather(std::byte* all, std::size_t bytes);
  void broadcast(std::byte* values, std::size_t bytes, int root);
  // Returns when all ranks have come here.
  void barrier();

 private:
  int size() const { return static_cast<int>(channels_.size()); }
  Channel& channel(int rank) { return *channels_[static_cast<std::size_t>(rank)]; }
  void post_to_all(const std::byte* values, std::size_t bytes, std::size_t stride);
  void add_in_order(const std::byte* own, std::byte* sum, std::size_t bytes);

  Channels& channels_;
  const int rank_;
  const CallLabel label_;
  const DType dtype_;
  const Deadline deadline_;
};

}  // namespace cohort::distribute::collective
