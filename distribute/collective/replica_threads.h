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

  std::mutex mutex_;  // guards what follows
  std::condition_variable begun_, done_;
  const std::function<void(int)>* work_ = nullptr;
  std::uint64_t round_ = 0;
  int running_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace cohort::distribute
