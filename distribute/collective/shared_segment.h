#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "cohort/distribute/collective/channel.h"
#include "cohort/distribute/rpc/shared_memory.h"

namespace cohort::distribute::collective {

inline constexpr std::size_t kSegmentChunks = kSharedBytesAhead / kChunkBytes + 1;

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

// Memory of two processes of one host, for one pair of ranks. Thread-safe as long as nobody but its channel writes the
// lanes.
class SharedSegment {
 public:
  // Throws ResourceExhausted when the host does not give it.
  static std::unique_ptr<SharedSegment> make();
  // Maps a peer's one; nullptr when it is not to be found here.
  static std::unique_ptr<SharedSegment> open(const std::string& name);

  // As those of SharedMemory.
  std::string name() const { return memory_->name(); }
  std::uint64_t nonce() const { return memory_->nonce(); }
  bool is_makers() const { return memory_->is_makers(); }
  void hide() { memory_->hide(); }
  // From the maker to the other: lane 0; back: lane 1.
  Lane& lane(int index);
  std::byte* chunk(int lane, std::size_t slot);

 private:
  explicit SharedSegment(std::unique_ptr<rpc::SharedMemory> memory) : memory_(std::move(memory)) {}

  const std::unique_ptr<rpc::SharedMemory> memory_;
};

}  // namespace cohort::distribute::collective
