#include "cohort/distribute/collective/mapped_sum.h"

#include <cstring>
#include <limits>
#include <span>

#include "cohort/distribute/collective/reduction.h"

namespace cohort::distribute::collective {
namespace {

constexpr std::uint64_t kNowhere = std::numeric_limits<std::uint64_t>::max();

}  // namespace

const std::byte* MappedSum::found(int rank, std::uint64_t place, std::size_t bytes) const {
  const std::byte* const memory = heaps_[static_cast<std::size_t>(rank)]->at(place, bytes);
  if (memory && place % size_of(dtype_) == 0) return memory;
  throw Error(ErrorCode::DataLoss, "Communicator", "a buffer lies in the memory that its rank shares",
              {{"peer", channels_[static_cast<std::size_t>(rank)]->peer()}, {"place", place}, {"bytes", bytes}});
}

bool MappedSum::find_places(const std::byte* values, std::size_t bytes, std::size_t own_offset) {
  const SharedHeap* const heap = SharedHeap::of_process();
  const std::uint64_t own = heap->place_of(values, bytes).value_or(kNowhere);
  for (int step = 1; step < size(); ++step) {
    channel(rank_behind(step)).send_copy(label_, std::as_bytes(std::span(&own, 1)), deadline_);
  }
  bool all = own != kNowhere;
  places_.clear();
  for (int step = 1; step < size(); ++step) {
    const int rank = rank_behind(step);
    std::uint64_t place = 0;
    channel(rank).receive(label_, std::as_writable_bytes(std::span(&place, 1)), deadline_);
    all = all && place != kNowhere;
    places_.push_back(place == kNowhere ? nullptr : found(rank, place, bytes) + own_offset);
  }
  return all;
}

bool MappedSum::all_reduce(std::byte* values, std::size_t count) {
  const BufferBlocks blocks = BufferBlocks::shared(count, size(), dtype_, count * size_of(dtype_));
  const BufferBlocks::Piece own = blocks.piece(rank_, 0);
  if (!find_places(values, blocks.all_bytes, own.offset)) return false;
  add_up(dtype_, places_, values + own.offset, own.bytes / size_of(dtype_));
  for (int step = 1; step < size(); ++step) channel(rank_behind(step)).post(label_, {}, deadline_);
  for (int step = 1; step < size(); ++step) {
    const int rank = rank_behind(step);
    const BufferBlocks::Piece sum = blocks.piece(rank, 0);
    const std::byte* const buffer = places_[static_cast<std::size_t>(step - 1)] - own.offset;
    channel(rank).receive(label_, {}, deadline_);
    if (sum.bytes > 0) std::memcpy(values + sum.offset, buffer + sum.offset, sum.bytes);
  }
  // Nobody's buffer changes before all have read it.
  Exchange(channels_, rank_, label_, dtype_, deadline_).barrier();
  return true;
}

}  // namespace cohort::distribute::collective
