#pragma once

#include <algorithm>
#include <array>

#include "cohort/distribute/rpc/carrier.h"
#include "cohort/distribute/rpc/shared_rings.h"

namespace cohort::distribute::rpc {

// Messages over rings: chunks, each behind its length. The parts of a large message lie in a block, where there is one;
// then its place comes before the first chunk. Never waits. Used by one thread at a time.
class RingMessages {
 public:
  explicit RingMessages(SharedRings& rings) : rings_(rings) {}

  using Came = Carrier::Came;
  // Hands what has come over to the reader, which is one without sums; throws DataLoss.
  Came take(MessageReader& reader);
  // Whether take() would find something new.
  bool has_come() { return rings_.readable() > std::max(seen(), kLengthBytes - 1); }

  // Writes what there is room for; true when all of the writer's message is written.
  bool put(MessageWriter& writer);
  bool has_room() { return !rings_.room().empty(); }

 private:
  static constexpr std::uint32_t kLengthBytes = sizeof(std::uint32_t);
  // A place: a length that no chunk has, then number, offset and size of the block.
  static constexpr std::uint32_t kPlaceBytes = 2 * sizeof(std::uint32_t) + 2 * sizeof(std::uint64_t);
  std::uint32_t seen() const {
    return incoming_ > 0 ? kLengthBytes + handed_over_ : awaits_place_ ? kPlaceBytes - 1 : 0;
  }
  void copy_ahead(char* to, std::uint32_t bytes) const;
  bool begin_incoming(MessageReader& reader);
  bool take_place(MessageReader& reader);
  void end_incoming(MessageReader& reader);
  void lay_down(MessageWriter& writer);
  template <class Value>
  void add_ahead(Value value);

  SharedRings& rings_;
  std::uint32_t incoming_ = 0;           // bytes of the chunk that is coming; 0: none is
  std::uint32_t handed_over_ = 0;        // of those
  bool held_ = false;                    // all are, but the message is not admitted
  bool awaits_place_ = false;            // a place has begun to come
  std::uint32_t outgoing_ = 0;           // bytes of the present chunk that are to be written
  std::array<char, kPlaceBytes> ahead_;  // what is written before them
  std::uint32_t ahead_bytes_ = 0, ahead_written_ = 0;
};

}  // namespace cohort::distribute::rpc
