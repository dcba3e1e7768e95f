#include "cohort/distribute/rpc/shared_rings.h"

#include <algorithm>
#include <new>

#include "cohort/core/error.h"
#include "cohort/distribute/rpc/futex.h"

namespace cohort::distribute::rpc {

struct SharedRings::Shared {
  struct Side {
    alignas(128) std::atomic<std::uint32_t> written;  // bytes so far, of its ring
    alignas(128) std::atomic<std::uint32_t> read;     // likewise, of the other's
    alignas(128) std::atomic<std::uint32_t> sleeps;   // for what
    alignas(128) std::atomic<std::uint32_t> rung;     // how often; it sleeps on it
    std::atomic<std::uint32_t> closed;
  };
  Side sides[2];
  SharedBlocks::Counts blocks[2];  // likewise
};

namespace {

constexpr std::size_t kCountsBytes = std::size_t{64} << 10;
constexpr SharedMemory::Kind kRingsKind{
    .mark = 0x32676e7274726863,  // "chrtrng2"
    .bytes = kCountsBytes + 2 * (std::size_t{SharedRings::kRingBytes} + SharedBlocks::kBytes)};

// What may be read or written at this count in one piece.
std::uint32_t to_the_end(std::uint32_t count) { return SharedRings::kRingBytes - count % SharedRings::kRingBytes; }

void check_count(const char* name, std::uint32_t count) {
  if (count <= SharedRings::kRingBytes) return;
  throw data_loss("a ring holds no more bytes than it has room for", {{name, count}});
}

}  // namespace

SharedBlocks SharedRings::blocks_of(int side) const {
  std::byte* const blocks = memory_->data() + kCountsBytes + 2 * std::size_t{kRingBytes};
  return {memory_, shared_.blocks[side], blocks + static_cast<std::size_t>(side) * SharedBlocks::kBytes};
}

SharedRings::SharedRings(std::shared_ptr<SharedMemory> memory)
    : memory_(std::move(memory)),
      shared_(*reinterpret_cast<Shared*>(memory_->data())),
      here_(memory_->is_makers() ? 0 : 1),
      there_(1 - here_),
      out_(reinterpret_cast<char*>(memory_->data()) + kCountsBytes + static_cast<std::size_t>(here_) * kRingBytes),
      in_(reinterpret_cast<char*>(memory_->data()) + kCountsBytes + static_cast<std::size_t>(there_) * kRingBytes),
      own_blocks_(blocks_of(here_)),
      other_blocks_(blocks_of(there_)) {}

std::unique_ptr<SharedRings> SharedRings::make() {
  static_assert(sizeof(Shared) <= kCountsBytes);
  auto memory = SharedMemory::make(kRingsKind, "Stream", "shared memory for each stream is expected",
                                   "Free memory, or use the transport grpc.");
  new (memory->data()) Shared{};
  return std::unique_ptr<SharedRings>(new SharedRings(std::move(memory)));
}

std::unique_ptr<SharedRings> SharedRings::open(const std::string& name) {
  auto memory = SharedMemory::open(name, kRingsKind);
  return memory ? std::unique_ptr<SharedRings>(new SharedRings(std::move(memory))) : nullptr;
}

std::uint32_t SharedRings::readable() {
  const std::uint32_t bytes = shared_.sides[there_].written.load(std::memory_order_seq_cst) - read_;
  check_count("readable", bytes);
  // What has been told to be there stays, whatever the other side says later.
  known_ = std::max(known_, bytes);
  return known_;
}

std::span<const char> SharedRings::peek(std::uint32_t offset) const {
  if (offset >= known_) return {};
  const std::uint32_t from = read_ + offset;
  return {in_ + from % kRingBytes, std::min(known_ - offset, to_the_end(from))};
}

void SharedRings::release(std::uint32_t bytes) {
  read_ += bytes;
  known_ -= bytes;
  released_ += bytes;
  shared_.sides[here_].read.store(read_, std::memory_order_seq_cst);
  news_ |= kForRoom;
  // Who waits for room is better woken once for much of it.
  if (released_ >= kRingBytes / 2) ring();
}

std::span<char> SharedRings::room() {
  const std::uint32_t used = written_ - shared_.sides[there_].read.load(std::memory_order_seq_cst);
  check_count("used", used);
  return {out_ + written_ % kRingBytes, std::min(kRingBytes - used, to_the_end(written_))};
}

void SharedRings::publish(std::uint32_t bytes) {
  written_ += bytes;
  shared_.sides[here_].written.store(written_, std::memory_order_seq_cst);
  news_ |= kForBytes;
}

// Whoever sleeps has said so before it looked for the last time.
void SharedRings::ring() {
  if (news_ == 0) return;
  Shared::Side& other = shared_.sides[there_];
  if ((other.sleeps.load(std::memory_order_seq_cst) & news_) != 0) {
    other.rung.fetch_add(1, std::memory_order_seq_cst);
    wake_all(other.rung);
  }
  news_ = released_ = 0;
}

std::uint32_t SharedRings::lie_down(std::uint32_t reasons) {
  ring();
  Shared::Side& own = shared_.sides[here_];
  const std::uint32_t seen = own.rung.load(std::memory_order_seq_cst);
  own.sleeps.store(reasons, std::memory_order_seq_cst);
  return seen;
}

void SharedRings::doze(std::uint32_t seen, std::chrono::nanoseconds longest) {
  if (longest.count() > 0) wait_on(shared_.sides[here_].rung, seen, longest);
}

void SharedRings::rise() { shared_.sides[here_].sleeps.store(0, std::memory_order_relaxed); }

void SharedRings::interrupt() {
  Shared::Side& own = shared_.sides[here_];
  own.rung.fetch_add(1, std::memory_order_seq_cst);
  wake_all(own.rung);
}

void SharedRings::close() {
  shared_.sides[here_].closed.store(1, std::memory_order_seq_cst);
  news_ |= kForBytes | kForRoom;
  ring();
}

bool SharedRings::is_closed() const { return shared_.sides[there_].closed.load(std::memory_order_acquire) != 0; }

}  // namespace cohort::distribute::rpc
