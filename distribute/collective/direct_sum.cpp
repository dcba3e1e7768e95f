#include "cohort/distribute/collective/direct_sum.h"

#include <algorithm>

#include "cohort/distribute/collective/reduction.h"

namespace cohort::distribute::collective {
void DirectSum::send(int rank, const std::byte* values, const BufferBlocks::Piece& piece) {
  channel(rank).send_copy(label_, {values + piece.offset, piece.bytes}, deadline_);
}

void DirectSum::all_reduce(std::byte* values, std::size_t count) {
  blocks_ = BufferBlocks::shared(count, size(), dtype_, kChunkBytes);
  constexpr std::size_t kGroup = chunks_ahead(kChunkBytes);
  for (std::size_t first = 0; first < blocks_.chunks(); first += kGroup) {
    add_up_group(values, first, std::min(first + kGroup, blocks_.chunks()));
  }
}

// Some chunks of every block, as many as a channel has room for, less one. Whoever is behind all others never waits:
// what it needs was sent, and of those who send sums nobody has taken fewer chunks out of a channel than it has put in.
void DirectSum::add_up_group(std::byte* values, std::size_t first, std::size_t last) {
  for (std::size_t chunk = first; chunk < last; ++chunk) {
    for (int step = 1; step < size(); ++step) {
      send(rank_behind(step), values, blocks_.piece(rank_behind(step), chunk));
    }
  }
  for (std::size_t chunk = first; chunk < last; ++chunk) {
    const BufferBlocks::Piece own = blocks_.piece(rank_, chunk);
    add_up_chunk(values, own);
    for (int step = 1; step < size(); ++step) send(rank_behind(step), values, own);
  }
  for (std::size_t chunk = first; chunk < last; ++chunk) {
    for (int step = 1; step < size(); ++step) {
      const int from = rank_behind(step);
      const BufferBlocks::Piece sum = blocks_.piece(from, chunk);
      channel(from).expect(label_, sum.bytes, deadline_).copy_to(values + sum.offset);
      channel(from).release();
    }
  }
}

// In the order of a ring: the values of the rank behind this one come first, and its own last.
void DirectSum::add_up_chunk(std::byte* values, const BufferBlocks::Piece& piece) {
  came_.clear();
  for (int step = 1; step < size(); ++step) {
    came_.push_back(channel(rank_behind(step)).expect(label_, piece.bytes, deadline_).bytes.data());
  }
  add_up(dtype_, came_, values + piece.offset, piece.bytes / size_of(dtype_));
  for (int step = 1; step < size(); ++step) channel(rank_behind(step)).release();
}

}  // namespace cohort::distribute::collective
