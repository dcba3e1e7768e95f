#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cohort/distribute/rpc/carrier.h"
#include "cohort/distribute/rpc/shared_blocks.h"
#include "cohort/distribute/rpc/shared_memory.h"

namespace cohort::distribute::rpc {

// The memory of one stream between two processes: a ring of bytes each way, blocks for large messages each way, and a
// bell for each side. Of what the other side writes, counts are read once and checked; DataLoss when they cannot be.
// Used by one thread at a time, but interrupt() is for any.
class SharedRings {
 public:
  static constexpr std::uint32_t kRingBytes = std::uint32_t{1} << 19;

  // Throws ResourceExhausted when the host does not give the memory.
  static std::unique_ptr<SharedRings> make();
  // Maps a peer's; nullptr when it is not to be found here.
  static std::unique_ptr<SharedRings> open(const std::string& name);
  SharedMemory& memory() { return *memory_; }

  // How many bytes have come and were not released.
  std::uint32_t readable();
  // Of those that readable() has told last, the ones from the `offset`th on, as far as they lie in one piece.
  std::span<const char> peek(std::uint32_t offset) const;
  void release(std::uint32_t bytes);

  // Room for bytes, as far as it lies in one piece; none: the other side has to release some.
  std::span<char> room();
  // So many of room() are written.
  void publish(std::uint32_t bytes);

  // Of this side and of the other.
  SharedBlocks& own_blocks() { return own_blocks_; }
  const SharedBlocks& other_blocks() const { return other_blocks_; }

  // Wakes the other side, if it sleeps for what was published or released since the last time. release() does it by
  // itself, now and then.
  void ring();
  // Rings, then sleeps until the other side rings, so long at most, unless `ready`. Wakes up for no reason, too.
  template <class Ready>
  void sleep(std::uint32_t reasons, std::chrono::nanoseconds longest, const Ready& ready) {
    const std::uint32_t seen = lie_down(reasons);
    if (!ready()) doze(seen, longest);
    rise();
  }
  // This side wakes up, or will not sleep the next time.
  void interrupt();

  // This side writes and reads no more.
  void close();
  bool is_closed() const;

 private:
  struct Shared;
  explicit SharedRings(std::shared_ptr<SharedMemory> memory);
  SharedBlocks blocks_of(int side) const;
  std::uint32_t lie_down(std::uint32_t reasons);
  void doze(std::uint32_t seen, std::chrono::nanoseconds longest);
  void rise();

  const std::shared_ptr<SharedMemory> memory_;
  Shared& shared_;
  const int here_, there_;       // this side and the other; a side writes the ring of its number
  char *const out_, *const in_;  // the rings' bytes
  SharedBlocks own_blocks_;
  const SharedBlocks other_blocks_;
  std::uint32_t written_ = 0, read_ = 0;  // our own counts, which nobody else can change
  std::uint32_t known_ = 0;               // bytes that have come and were not released
  std::uint32_t released_ = 0;            // bytes since the last time
  std::uint32_t news_ = 0;                // what the other side may be sleeping for and was not rung for
};

}  // namespace cohort::distribute::rpc
