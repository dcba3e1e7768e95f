#include "cohort/distribute/rpc/ring_messages.h"

#include <algorithm>
#include <cstring>

#include "cohort/core/error.h"

namespace cohort::distribute::rpc {
namespace {

// Large enough to be copied at full speed, small enough for one side to read while the other writes.
constexpr std::size_t kRingChunkBytes = std::size_t{128} << 10;
// A chunk lies in the ring until all of it has been read.
constexpr std::uint32_t kLargestRingChunk = SharedRings::kRingBytes / 2;
static_assert(kRingChunkBytes + kRingChunkBytes / 4 + sizeof(wire::ChunkHeader) <= kLargestRingChunk);

}  // namespace

bool RingMessages::begin_incoming(MessageReader& reader) {
  if (rings_.readable() < kLengthBytes) return false;
  // Copied before it is looked at: the other side may change it any time.
  char bytes[kLengthBytes];
  for (std::uint32_t i = 0; i < kLengthBytes; ++i) bytes[i] = rings_.peek(i).front();
  std::uint32_t length;
  std::memcpy(&length, bytes, sizeof length);
  if (length > kLargestRingChunk) {
    throw data_loss("a chunk fits into its ring", {{"bytes", length}, {"limit", kLargestRingChunk}});
  }
  reader.begin_chunk(length);
  incoming_ = length;
  handed_over_ = 0;
  return true;
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
  if (held_) end_incoming(reader);
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

bool RingMessages::put(MessageWriter& writer) {
  for (;;) {
    if (outgoing_ == 0 && length_left_ == 0) {
      if (writer.done()) break;
      outgoing_ = length_ = static_cast<std::uint32_t>(writer.begin_chunk(kRingChunkBytes));
      length_left_ = kLengthBytes;
    }
    const std::span<char> room = rings_.room();
    if (room.empty()) return false;
    std::uint32_t count;
    if (length_left_ > 0) {
      count = std::min(static_cast<std::uint32_t>(room.size()), length_left_);
      std::memcpy(room.data(), reinterpret_cast<const char*>(&length_) + (kLengthBytes - length_left_), count);
      length_left_ -= count;
    } else {
      count = std::min(static_cast<std::uint32_t>(room.size()), outgoing_);
      writer.copy(room.data(), count);
      outgoing_ -= count;
    }
    rings_.publish(count);
  }
  rings_.ring();
  return true;
}

}  // namespace cohort::distribute::rpc
