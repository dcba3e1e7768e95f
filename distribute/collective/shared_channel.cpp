#include "cohort/distribute/collective/shared_channel.h"

#include <algorithm>

#include "cohort/distribute/rpc/futex.h"

namespace cohort::distribute::collective {
namespace {

// About as long as a peer on another core takes to answer; waiting longer awake brings nothing. Giving up the core
// without sleeping does neither: where there are more threads than cores it lasts until the others have had enough.
constexpr int kSpins = 2000;

void rest_a_moment() {
#if defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#elif defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// After a count was raised: whoever sleeps on it has said so before looking at it for the last time.
void wake_sleeper(std::atomic<std::uint32_t>& count, std::atomic<std::uint32_t>& sleeps) {
  if (sleeps.load(std::memory_order_seq_cst) != 0) rpc::wake_all(count);
}

}  // namespace

SharedChannel::SharedChannel(std::unique_ptr<SharedSegment> segment, std::string peer, const Watch& watch)
    : segment_(std::move(segment)),
      peer_(std::move(peer)),
      watch_(watch),
      out_lane_(segment_->is_makers() ? 0 : 1),
      in_lane_(1 - out_lane_),
      out_(segment_->lane(out_lane_)),
      in_(segment_->lane(in_lane_)) {}

template <class Ready>
void SharedChannel::wait(std::atomic<std::uint32_t>& word, std::atomic<std::uint32_t>& sleeps, Deadline deadline,
                         const Ready& ready) {
  if (ready()) return;
  for (int spin = may_spin_ ? kSpins : 0; spin > 0; --spin) {
    rest_a_moment();
    if (ready()) return;
  }
  for (;;) {
    sleeps.store(1, std::memory_order_seq_cst);
    const std::uint32_t seen = word.load(std::memory_order_seq_cst);
    const auto left = deadline - std::chrono::steady_clock::now();
    if (!ready() && !watch_.ended() && !has_left() && left.count() > 0) {
      rpc::wait_on(word, seen, std::min<std::chrono::nanoseconds>(Watch::kPause, left));
    }
    sleeps.store(0, std::memory_order_relaxed);
    const bool left_before = has_left();
    if (ready()) return;
    if (left_before) throw_left();
    watch_.check(peer_, deadline);
  }
}

std::span<std::byte> SharedChannel::reserve(std::size_t bytes, Deadline deadline) {
  if (bytes > kChunkBytes) throw internal_error("Communicator", "a chunk is too large", {{"bytes", bytes}});
  wait(out_.released, out_.producer_sleeps, deadline,
       [&] { return sent_ - out_.released.load(std::memory_order_acquire) < kSegmentChunks; });
  reserved_ = bytes;
  return {segment_->chunk(out_lane_, sent_ % kSegmentChunks), bytes};
}

void SharedChannel::send(const CallLabel& label) {
  out_.slots[sent_ % kSegmentChunks] = {label, reserved_};
  out_.sent.store(++sent_, std::memory_order_seq_cst);
  wake_sleeper(out_.sent, out_.consumer_sleeps);
}

Channel::Arrived SharedChannel::next(Deadline deadline) {
  wait(in_.sent, in_.consumer_sleeps, deadline, [&] { return in_.sent.load(std::memory_order_acquire) != taken_; });
  const std::size_t slot = taken_ % kSegmentChunks;
  const Lane::Slot found = in_.slots[slot];
  if (found.bytes > kChunkBytes) {
    throw Error(ErrorCode::DataLoss, "Communicator", "a chunk of a segment fits into it",
                {{"peer", peer_}, {"bytes", found.bytes}});
  }
  return {found.label, {segment_->chunk(in_lane_, slot), static_cast<std::size_t>(found.bytes)}};
}

void SharedChannel::release() {
  in_.released.store(++taken_, std::memory_order_seq_cst);
  wake_sleeper(in_.released, in_.producer_sleeps);
}

void SharedChannel::interrupt() {
  rpc::wake_all(in_.sent);
  rpc::wake_all(out_.released);
}

}  // namespace cohort::distribute::collective
