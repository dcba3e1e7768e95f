#include "cohort/distribute/rpc/ring_messages.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "cohort/core/error.h"

namespace cohort::distribute::rpc {
namespace {

// Large enough to be copied at full speed, small enough for one side to read while the other writes.
constexpr std::size_t kRingChunkBytes = std::size_t{128} << 10;
// A chunk lies in the ring until all of it has been read.
constexpr std::uint32_t kLargestRingChunk = SharedRings::kRingBytes / 2;
static_assert(kRingChunkBytes + kRingChunkBytes / 4 + sizeof(wire::ChunkHeader) <= kLargestRingChunk);
constexpr std::uint32_t kPlaceMark = 0xffffffff;
// Of parts, that are worth a block.
constexpr std::uint64_t kWorthABlock = std::uint64_t{32} << 10;

}  // namespace

// Copied before it is looked at: the other side may change it any time.
void RingMessages::copy_ahead(char* to, std::uint32_t bytes) const {
  for (std::uint32_t i = 0; i < bytes; ++i) to[i] = rings_.peek(i).front();
}

bool RingMessages::take_place(MessageReader& reader) {
  awaits_place_ = rings_.readable() < kPlaceBytes;
  if (awaits_place_) return false;
  char bytes[kPlaceBytes];
  copy_ahead(bytes, kPlaceBytes);
  SharedBlocks::Place place;
  std::memcpy(&place.number, bytes + kLengthBytes, sizeof place.number);
  std::memcpy(&place.offset, bytes + 2 * kLengthBytes, sizeof place.offset);
  std::memcpy(&place.bytes, bytes + 2 * kLengthBytes + sizeof place.offset, sizeof place.bytes);
  Owned<Buffer> block = rings_.other_blocks().hold(place);
  if (!block) {
    throw data_loss("a block lies within its memory", {{"offset", place.offset}, {"bytes", place.bytes}});
  }
  reader.lend(std::move(block));
  rings_.release(kPlaceBytes);
  return true;
}

bool RingMessages::begin_incoming(MessageReader& reader) {
  for (;;) {
    if (rings_.readable() < kLengthBytes) return false;
    char bytes[kLengthBytes];
    copy_ahead(bytes, kLengthBytes);
    std::uint32_t length;
    std::memcpy(&length, bytes, sizeof length);
    if (length == kPlaceMark) {
      if (!take_place(reader)) return false;
      continue;
    }
    if (length > kLargestRingChunk) {
      throw data_loss("a chunk fits into its ring", {{"bytes", length}, {"limit", kLargestRingChunk}});
    }
    reader.begin_chunk(length);
    incoming_ = length;
    handed_over_ = 0;
    return true;
  }
}

void RingMessages::end_incoming(MessageReader& reader) {
  for (std::uint32_t at = 0; reader.wants_again() && at < incoming_;) {
    const std::span<const char> piece = rings_.peek(kLengthBytes + at);
    const auto count = std::min(static_cast<std::uint32_t>(piece.size()), incoming_ - at);
    reader.take_again(piece.data(), count);
    at += count;
  }
  rings_.release(kLengthBytes + incoming_);
  incoming_ = 0;
  held_ = false;
}

RingMessages::Came RingMessages::take(MessageReader& reader) {
  if (held_) {
    end_incoming(reader);
    if (reader.ends_with_loan()) return Came::Message;
  }
  for (;;) {
    if (incoming_ == 0 && !begin_incoming(reader)) return Came::NotAll;
    while (handed_over_ < incoming_) {
      std::span<const char> piece = rings_.peek(kLengthBytes + handed_over_);
      if (piece.empty()) {
        if (rings_.readable() <= kLengthBytes + handed_over_) return Came::NotAll;
        piece = rings_.peek(kLengthBytes + handed_over_);
      }
      const auto count = std::min(static_cast<std::uint32_t>(piece.size()), incoming_ - handed_over_);
      reader.take(piece.data(), count);
      handed_over_ += count;
    }
    const bool complete = reader.end_chunk();
    held_ = reader.wanted() > 0;
    if (held_) return Came::Asks;
    end_incoming(reader);
    if (complete) return Came::Message;
  }
}

template <class Value>
void RingMessages::add_ahead(Value value) {
  std::memcpy(ahead_.data() + ahead_bytes_, &value, sizeof value);
  ahead_bytes_ += sizeof value;
}

// The message's parts, into a block, where they are worth one and one is free.
void RingMessages::lay_down(MessageWriter& writer) {
  if (writer.data_bytes() < kWorthABlock) return;
  const std::optional<SharedBlocks::Place> place = rings_.own_blocks().give(writer.data_bytes());
  if (!place) return;
  writer.take_data_out(rings_.own_blocks().at(*place));
  add_ahead(kPlaceMark);
  add_ahead(place->number);
  add_ahead(place->offset);
  add_ahead(place->bytes);
}

bool RingMessages::put(MessageWriter& writer) {
  for (;;) {
    if (outgoing_ == 0 && ahead_bytes_ == 0) {
      if (writer.done()) break;
      if (writer.begins()) lay_down(writer);
    }
    if (outgoing_ == 0 && ahead_bytes_ == 0) {
      outgoing_ = static_cast<std::uint32_t>(writer.begin_chunk(kRingChunkBytes));
      add_ahead(outgoing_);
    }
    const std::span<char> room = rings_.room();
    if (room.empty()) return false;
    const auto most = static_cast<std::uint32_t>(room.size());
    std::uint32_t count;
    if (ahead_bytes_ > 0) {
      count = std::min(most, ahead_bytes_ - ahead_written_);
      std::memcpy(room.data(), ahead_.data() + ahead_written_, count);
      ahead_written_ += count;
      if (ahead_written_ == ahead_bytes_) ahead_bytes_ = ahead_written_ = 0;
    } else {
      count = std::min(most, outgoing_);
      writer.copy(room.data(), count);
      outgoing_ -= count;
    }
    rings_.publish(count);
  }
  rings_.ring();
  return true;
}

}  // namespace cohort::distribute::rpc
