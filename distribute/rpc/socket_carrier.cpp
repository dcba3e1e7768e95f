#include "cohort/distribute/rpc/socket_carrier.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace cohort::distribute::rpc {
namespace {

constexpr std::size_t kSocketChunkBytes = std::size_t{1} << 19;
constexpr std::size_t kLargestChunk = kSocketChunkBytes + kSocketChunkBytes / 4 + sizeof(wire::ChunkHeader);
constexpr std::size_t kBufferBytes = std::size_t{8} << 10;
// What is read at once, so that its sum is taken while the nearest caches have it.
constexpr std::size_t kReadAtOnce = std::size_t{256} << 10;
// Less is not worth a call of the system.
constexpr std::size_t kSmallRoom = std::size_t{4} << 10;
constexpr std::size_t kPieces = 32;

}  // namespace

SocketCarrier::SocketCarrier(std::unique_ptr<DataSocket> socket) : socket_(std::move(socket)), buffer_(kBufferBytes) {}

bool SocketCarrier::read_more(MessageReader& reader) {
  std::array<iovec, 2> rooms;
  std::size_t count = 0;
  const std::span<char> room = incoming_ > 0 ? reader.room() : std::span<char>();
  const std::size_t direct = room.size() < kSmallRoom ? 0 : std::min(room.size(), kReadAtOnce);
  if (direct > 0) rooms[count++] = {room.data(), direct};
  rooms[count++] = {buffer_.data(), buffer_.size()};
  used_ = filled_ = 0;
  std::size_t came = socket_->read({rooms.data(), count});
  if (came == 0) return false;
  const std::size_t in_place = std::min(came, direct);
  if (in_place > 0) {
    reader.took(in_place);
    incoming_ -= in_place;
    came -= in_place;
  }
  filled_ = came;
  return true;
}

bool SocketCarrier::begin_incoming(MessageReader& reader) {
  std::uint32_t length = 0;
  while (unread() < sizeof length) {
    // What there is of it moves to the front.
    const std::size_t had = unread();
    std::copy_n(buffer_.data() + used_, had, buffer_.data());
    const iovec rest{buffer_.data() + had, buffer_.size() - had};
    const std::size_t came = socket_->read({&rest, 1});
    used_ = 0;
    filled_ = had + came;
    if (came == 0) return false;
  }
  std::memcpy(&length, buffer_.data() + used_, sizeof length);
  used_ += sizeof length;
  if (length > kLargestChunk) {
    throw data_loss("a chunk is no larger than chunks are", {{"bytes", length}, {"limit", kLargestChunk}});
  }
  reader.begin_chunk(length);
  incoming_ = length;
  return true;
}

Carrier::Came SocketCarrier::take(MessageReader& reader) {
  for (;;) {
    // What was there is gone: what comes before the parts of several chunks makes chunks of its own.
    if (reader.wants_again()) throw data_loss("parts come when they have memory");
    if (incoming_ == 0 && !begin_incoming(reader)) return Came::NotAll;
    while (incoming_ > 0) {
      if (unread() == 0 && !read_more(reader)) return Came::NotAll;
      const std::size_t count = std::min(unread(), incoming_);
      if (count == 0) continue;
      reader.take(buffer_.data() + used_, count);
      used_ += count;
      incoming_ -= count;
    }
    const bool complete = reader.end_chunk();
    if (reader.wanted() > 0) return Came::Asks;
    if (complete) return Came::Message;
  }
}

bool SocketCarrier::put(MessageWriter& writer) {
  std::array<iovec, kPieces> pieces;
  for (;;) {
    if (outgoing_ == 0 && length_left_ == 0) {
      if (writer.done()) return socket_->flush();
      outgoing_ = writer.begin_chunk(kSocketChunkBytes, sums());
      length_ = static_cast<std::uint32_t>(outgoing_);
      length_left_ = sizeof length_;
    }
    std::size_t count = 0;
    if (length_left_ > 0) {
      pieces[count++] = {reinterpret_cast<char*>(&length_) + (sizeof length_ - length_left_), length_left_};
    }
    count += writer.pieces(outgoing_, std::span(pieces).subspan(count));
    std::size_t written = socket_->write({pieces.data(), count});
    if (written == 0) return false;
    const std::size_t of_length = std::min(written, length_left_);
    length_left_ -= of_length;
    written -= of_length;
    writer.skip(written);
    outgoing_ -= written;
  }
}

// Bytes that have come are never left unread but for a reader who asks, or who was given a whole message: neither
// sleeps before it has taken more.
void SocketCarrier::sleep(std::uint32_t reasons, std::chrono::nanoseconds longest,
                          const std::function<bool()>& is_over) {
  if (is_over() || longest.count() <= 0) return;
  socket_->wait((reasons & kForBytes) != 0, (reasons & kForRoom) != 0, longest);
}

}  // namespace cohort::distribute::rpc
