#include "cohort/distribute/collective/ring.h"

#include <algorithm>

namespace cohort::distribute::collective {
Ring::Ring(Channel& left, Channel& right, int rank, int size, std::size_t chunk_bytes, const CallLabel& label,
           DType dtype, Deadline deadline)
    : left_(left),
      right_(right),
      rank_(rank),
      size_(size),
      chunk_bytes_(chunk_bytes),
      label_(label),
      dtype_(dtype),
      deadline_(deadline) {}

// A group of chunks goes round together. A channel has room for one chunk more, so that a rank that has filled it can
// always send what it makes of the next one it receives.
template <class Visit>
void Ring::for_each_group(const Visit& visit) const {
  const std::size_t chunks = blocks_.chunks(), group = chunks_ahead(chunk_bytes_);
  for (std::size_t first = 0; first < chunks; first += group) visit(first, std::min(first + group, chunks));
}

int Ring::block_before(int steps) const { return (rank_ - steps % size_ + size_) % size_; }

void Ring::send_copy(const std::byte* from, std::size_t bytes) { right_.send_copy(label_, {from, bytes}, deadline_); }

void Ring::start(const std::byte* values, int block, std::size_t first, std::size_t last) {
  for (std::size_t chunk = first; chunk < last; ++chunk) {
    const Piece own = piece(block, chunk);
    send_copy(values + own.offset, own.bytes);
  }
}

// The sum of this rank's own block comes last. It goes to `sums`: the whole buffer when all gather it, or this block.
void Ring::reduce(const std::byte* values, std::byte* sums, std::size_t first, std::size_t last, bool gathers) {
  start(values, block_before(1), first, last);
  for (int step = 2; step <= size_; ++step) {
    for (std::size_t chunk = first; chunk < last; ++chunk) {
      const Piece own = piece(block_before(step), chunk);
      const Channel::Arrived arrived = left_.expect(label_, own.bytes, deadline_);
      if (step < size_) {
        const std::span<std::byte> to = right_.reserve(own.bytes, deadline_);
        arrived.add_to(dtype_, values + own.offset, to.data());
        left_.release();
        right_.send(label_);
      } else {
        std::byte* const sum = sums + (gathers ? own.offset : chunk * chunk_bytes_);
        arrived.add_to(dtype_, values + own.offset, sum);
        left_.release();
        if (gathers) send_copy(sum, own.bytes);
      }
    }
  }
}

void Ring::gather(std::byte* values, std::size_t first, std::size_t last) {
  for (int step = 1; step < size_; ++step) {
    for (std::size_t chunk = first; chunk < last; ++chunk) {
      const Piece other = piece(block_before(step), chunk);
      left_.expect(label_, other.bytes, deadline_).copy_to(values + other.offset);
      left_.release();
      if (step + 1 < size_) send_copy(values + other.offset, other.bytes);
    }
  }
}

void Ring::all_reduce(std::byte* values, std::size_t count) {
  blocks_ = BufferBlocks::shared(count, size_, dtype_, chunk_bytes_);
  for_each_group([&](std::size_t first, std::size_t last) {
    reduce(values, values, first, last, /*gathers=*/true);
    gather(values, first, last);
  });
}

void Ring::reduce_scatter(const std::byte* all, std::byte* mine, std::size_t count) {
  blocks_ = BufferBlocks::of_ranks(count, size_, dtype_, chunk_bytes_);
  for_each_group([&](std::size_t first, std::size_t last) { reduce(all, mine, first, last, /*gathers=*/false); });
}

void Ring::all_gather(std::byte* all, std::size_t count) {
  blocks_ = BufferBlocks::of_ranks(count, size_, dtype_, chunk_bytes_);
  for_each_group([&](std::size_t first, std::size_t last) {
    start(all, rank_, first, last);
    gather(all, first, last);
  });
}

void Ring::broadcast(std::byte* values, std::size_t count, int root) {
  const bool is_last = (rank_ + 1) % size_ == root;
  const std::size_t bytes = count * size_of(dtype_);
  for (std::size_t offset = 0; offset < bytes; offset += chunk_bytes_) {
    const std::size_t chunk = std::min(chunk_bytes_, bytes - offset);
    if (rank_ == root) {
      send_copy(values + offset, chunk);
      continue;
    }
    left_.expect(label_, chunk, deadline_).copy_to(values + offset);
    left_.release();
    if (!is_last) send_copy(values + offset, chunk);
  }
}

}  // namespace cohort::distribute::collective
