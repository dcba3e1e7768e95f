#include "cohort/distribute/rpc/serving_threads.h"

#include <algorithm>
#include <system_error>

namespace cohort::distribute::rpc {
namespace {

// Calls of relieve() for which nothing is lent once something took long: few for what happens once, for the machine may
// have been busy elsewhere, and more each time it happens again within kForgotten.
constexpr std::uint32_t kLongestWithoutLending = 32, kForgotten = 64;

}  // namespace

void Turn::end() {
  if (!mine_) return;
  mine_ = false;
  threads_.end_turn(place_);
}

void Turn::lend() {
  if (!mine_ || lent_ != 0) return;
  const std::uint32_t call = threads_.calls_.load(std::memory_order_relaxed);
  if (call < threads_.lend_from_.load(std::memory_order_relaxed)) return end();
  lent_ = std::uint64_t{call} << 32 | ++place_.times;
  place_.lent.store(lent_, std::memory_order_release);
}

void Turn::take_back() {
  if (lent_ == 0) return;
  mine_ = place_.lent.compare_exchange_strong(lent_, 0, std::memory_order_acq_rel);
  lent_ = 0;
}

ServingThreads::ServingThreads(grpc::CompletionQueue& queue, int turns, int most_threads)
    : queue_(queue),
      turns_(static_cast<std::size_t>(turns)),
      most_threads_(static_cast<std::size_t>(most_threads)),
      places_(std::make_unique<Turn::Place[]>(turns_)) {
  std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < turns_; ++i) free_.push_back(&places_[i]);
  for (std::size_t i = 0; i < turns_; ++i) start();
}

ServingThreads::~ServingThreads() {
  {
    std::unique_lock lock(mutex_);
    turn_is_free_.wait(lock, [this] { return ended_; });
  }
  // No event is left, so nobody starts further ones.
  for (std::thread& thread : threads_) thread.join();
}

void ServingThreads::start() {
  threads_.emplace_back([this] { serve(); });
}

void ServingThreads::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    turn_is_free_.wait(lock, [this] { return !free_.empty() || ended_; });
    --idle_;
    if (ended_) return;
    Turn turn(*this, *free_.back());
    free_.pop_back();
    lock.unlock();
    while (turn.mine_) {
      void* tag = nullptr;
      bool ok = false;
      if (!next_event(tag, ok)) {
        lock.lock();
        ended_ = true;
        turn_is_free_.notify_all();
        return;
      }
      auto* event = static_cast<QueueEvent*>(tag);
      (void)event->begun_.load(std::memory_order_acquire);
      event->happened(ok, turn);
      turn.take_back();
    }
    lock.lock();
  }
}

bool ServingThreads::next_event(void*& tag, bool& ok) {
  const UnseenByThreadSanitizer unseen;
  return queue_.Next(&tag, &ok);
}

void ServingThreads::end_turn(Turn::Place& place) {
  std::lock_guard lock(mutex_);
  free_.push_back(&place);
  if (idle_ > 0) {
    turn_is_free_.notify_one();
    return;
  }
  // At the limit a thread that has done its work takes the turn.
  if (threads_.size() >= most_threads_) return;
  try {
    start();
  } catch (const std::system_error&) {
    // No more threads to be had: likewise.
  }
}

void ServingThreads::relieve() {
  const std::uint32_t call = calls_.fetch_add(1, std::memory_order_relaxed) + 1;
  for (std::size_t i = 0; i < turns_; ++i) {
    Turn::Place& place = places_[i];
    std::uint64_t lent = place.lent.load(std::memory_order_acquire);
    if (lent == 0 || (lent >> 32) + 1 >= call) continue;
    if (!place.lent.compare_exchange_strong(lent, 0, std::memory_order_acq_rel)) continue;
    without_lending_ = call - last_relief_ > kForgotten ? 1 : std::min(2 * without_lending_, kLongestWithoutLending);
    last_relief_ = call;
    lend_from_.store(call + without_lending_, std::memory_order_relaxed);
    end_turn(place);
  }
}

}  // namespace cohort::distribute::rpc
