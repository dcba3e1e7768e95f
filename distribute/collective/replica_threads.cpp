#include "cohort/distribute/collective/replica_threads.h"

namespace cohort::distribute {

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
  {
    std::lock_guard lock(mutex_);
    work_ = &work;
    running_ = static_cast<int>(threads_.size());
    ++round_;
  }
  begun_.notify_all();
  work(0);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return running_ == 0; });
}

void ReplicaThreads::serve(int number) {
  std::uint64_t round = 0;
  while (true) {
    const std::function<void(int)>* work = nullptr;
    {
      std::unique_lock lock(mutex_);
      begun_.wait(lock, [&] { return stopping_ || round_ != round; });
      if (stopping_) return;
      round = round_;
      work = work_;
    }
    (*work)(number);
    std::lock_guard lock(mutex_);
    if (--running_ == 0) done_.notify_one();
  }
}

}  // namespace cohort::distribute
