#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <sys/uio.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cohort/distribute/protocol/message.h"
#include "cohort/distribute/rpc/wire.h"

namespace cohort::distribute::rpc {

// Cuts one message after the other into chunks. Large parts are sent from where they lie; their buffers are kept until
// the network has them. Used by one thread at a time; keeps its memory between messages.
class MessageWriter {
 public:
  // `status` is that of wire::Prologue. Throws InvalidArgument for a part that cannot travel.
  //   copied: next() copies large parts, on the way to their sums; they must not change before the message is done.
  void begin(const Message& message, std::uint32_t status = 0, bool copied = false);
  // Makes the next chunk; false when the message is done.
  bool next(grpc::ByteBuffer& chunk);
  bool done() const { return sent_ == end_; }

  // The same where bytes are copied at once: begins a chunk of about `bytes` at most and returns its size, header
  // included; then copy(), or pieces() and skip(), are called until that is reached. What comes before the parts of a
  // message of several chunks makes chunks of its own.
  std::size_t begin_chunk(std::size_t bytes, bool sums = false);
  void copy(char* to, std::size_t count);
  // Where the next bytes lie, `count` at most and as many pieces as there is room for; returns how many pieces.
  std::size_t pieces(std::size_t count, std::span<iovec> found) const;
  void skip(std::size_t count);

  // Before the first chunk: how many bytes the parts have, and the same bytes, which no chunk will hold then.
  bool begins() const { return number_ == 0 && end_ == total_; }
  std::uint64_t data_bytes() const { return total_ - before_data_; }
  void take_data_out(char* to);

 private:
  // A run of payload bytes: in packed_, or in a tensor's memory.
  struct Segment {
    const char* memory;  // nullptr: packed_, at `begin`
    std::size_t begin;
    std::size_t bytes;
    grpc::Slice slice;
  };
  void add_spec(const Tensor& part, std::uint64_t bytes);
  void add_part(const Tensor& part, std::uint64_t bytes);
  void pad();
  void pack(const void* bytes, std::size_t count);
  void advance(std::size_t count);
  const char* begin_of(const Segment& segment) const {
    return segment.memory != nullptr ? segment.memory : packed_.data() + segment.begin;
  }
  // Calls with every run of the next `count` bytes of the payload, until it says false.
  template <class Visit>
  void for_each_run(std::size_t count, const Visit& visit) const;

  std::string packed_;
  Tensors hosted_;  // the parts, where the host can read them
  std::vector<std::uint64_t> part_bytes_;
  std::vector<Segment> segments_;
  std::vector<grpc::Slice> slices_;
  std::uint64_t data_ = 0, total_ = 0, sent_ = 0;
  std::uint64_t end_ = 0;  // of what chunks hold
  std::uint64_t before_data_ = 0;
  wire::ChunkHeader header_;
  std::size_t header_left_ = 0;
  std::size_t segment_ = 0, within_ = 0;
  std::uint32_t number_ = 0;
  bool copied_ = false;
};

}  // namespace cohort::distribute::rpc
