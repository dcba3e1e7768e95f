#include "cohort/distribute/rpc/serving_threads.h"

#include <system_error>

namespace cohort::distribute::rpc {

void Turn::end() {
  if (!mine_) return;
  mine_ = false;
  threads_.end_turn();
}

ServingThreads::ServingThreads(grpc::CompletionQueue& queue) : queue_(queue) {
  std::lock_guard lock(mutex_);
  start();
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
    turn_is_free_.wait(lock, [this] { return !taken_ || ended_; });
    --idle_;
    if (ended_) return;
    taken_ = true;
    lock.unlock();
    Turn turn(*this);
    while (turn.mine_) {
      void* tag = nullptr;
      bool ok = false;
      if (!queue_.Next(&tag, &ok)) {
        lock.lock();
        ended_ = true;
        turn_is_free_.notify_all();
        return;
      }
      auto* event = static_cast<QueueEvent*>(tag);
      (void)event->begun_.load(std::memory_order_acquire);
      event->happened(ok, turn);
    }
    lock.lock();
  }
}

void ServingThreads::end_turn() {
  std::lock_guard lock(mutex_);
  taken_ = false;
  if (idle_ > 0) {
    turn_is_free_.notify_one();
    return;
  }
  try {
    start();
  } catch (const std::system_error&) {
    // No more threads to be had: this one waits again when its work is done.
  }
}

}  // namespace cohort::distribute::rpc
