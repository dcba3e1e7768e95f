#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cohort::distribute {

// Threads that run the same function side by side with their caller, again and again. One caller at a time.
class ReplicaThreads {
 public:
  // So many beside the caller.
  explicit ReplicaThreads(int threads);
  ~ReplicaThreads();
  ReplicaThreads(const ReplicaThreads&) = delete;

  // Runs work(0) here and work(1), work(2), ... on the threads; returns when all are done. The work must not throw.
  void run(const std::function<void(int)>& work);

 private:
  void serve(int number);

  const std::function<void(int)>* work_ = nullptr;  // of the round
  std::atomic<std::uint64_t> round_ = 0;
  std::atomic<int> running_ = 0;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;  // of those who sleep, and those who wake them
  std::condition_variable begun_, done_;
  std::vector<std::thread> threads_;
};

}  // namespace cohort::distribute
