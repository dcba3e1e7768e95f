#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "cohort/distribute/collective/channel.h"

namespace cohort::distribute::collective {

inline constexpr std::size_t kSegmentChunks = kBytesAhead / kChunkBytes + 1;

// One direction of a segment: a ring of chunks from one producer to one consumer.
struct Lane {
  struct Slot {
    CallLabel label;
    std::uint64_t bytes;
  };
  alignas(128) std::atomic<std::uint32_t> sent;      // chunks so far; the consumer sleeps on it
  alignas(128) std::atomic<std::uint32_t> released;  // likewise; the producer sleeps on it
  alignas(128) std::atomic<std::uint32_t> consumer_sleeps;
  alignas(128) std::atomic<std::uint32_t> producer_sleeps;
  alignas(128) Slot slots[kSegmentChunks];
};

// Memory of two processes of one host, for one pair of ranks. Who makes it writes a number into it that only somebody
// who maps the same memory can tell back. Thread-safe as long as nobody but its channel writes the lanes.
class SharedSegment {
 public:
  // Makes one that has no name in any folder, so that nothing is left of it when both processes have ended. Throws
  // ResourceExhausted when the host does not give it.
  static std::unique_ptr<SharedSegment> make();
  // Maps a peer's one; nullptr when there is none of that name here, or not one of this user's.
  static std::unique_ptr<SharedSegment> open(const std::string& name);
  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;

  // What open() finds it by as long as it is not hidden: whose process it is and where there.
  std::string name() const;
  std::uint64_t nonce() const;
  bool is_makers() const { return is_makers_; }
  // Nobody finds it any more.
  void hide();
  // From the maker to the other: lane 0; back: lane 1.
  Lane& lane(int index);
  std::byte* chunk(int lane, std::size_t slot);

 private:
  SharedSegment(int file, void* memory, bool is_makers)
      : file_(file), memory_(static_cast<std::byte*>(memory)), is_makers_(is_makers) {}

  int file_;  // of its maker, until it is hidden; else -1
  std::byte* const memory_;
  const bool is_makers_;
};

}  // namespace cohort::distribute::collective
