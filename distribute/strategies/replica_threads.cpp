#include "cohort/distribute/strategies/replica_threads.h"

#include <chrono>

namespace cohort::distribute {
namespace {

// Rounds follow each other closely as a rule; a thread that sleeps takes about as long to come back.
constexpr std::chrono::microseconds kAwake{50};

template <class Condition>
bool comes_soon(const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + kAwake;
  do {
    if (condition()) return true;
    std::this_thread::yield();
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

}  // namespace

ReplicaThreads::ReplicaThreads(int threads) {
  for (int i = 1; i <= threads; ++i) threads_.emplace_back([this, i] { serve(i); });
}

ReplicaThreads::~ReplicaThreads() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  begun_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ReplicaThreads::run(const std::function<void(int)>& work) {
  if (threads_.empty()) return work(0);
  {
    std::lock_guard lock(mutex_);
    work_ = &work;
    running_ = static_cast<int>(threads_.size());
    ++round_;
  }
  begun_.notify_all();
  work(0);
  const auto all_done = [&] { return running_ == 0; };
  if (comes_soon(all_done)) return;
  std::unique_lock lock(mutex_);
  done_.wait(lock, all_done);
}

void ReplicaThreads::serve(int number) {
  std::uint64_t round = 0;
  const auto called = [&] { return stopping_ || round_ != round; };
  while (true) {
    if (!comes_soon(called)) {
      std::unique_lock lock(mutex_);
      begun_.wait(lock, called);
    }
    if (stopping_) return;
    ++round;
    (*work_)(number);
    if (running_.fetch_sub(1) != 1) continue;
    std::lock_guard lock(mutex_);
    done_.notify_one();
  }
}

}  // namespace cohort::distribute
