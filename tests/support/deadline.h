#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace cohort::test {

// Ends this process, and so the test, when the scope lasts longer: nothing that hangs goes unnoticed.
class Deadline {
 public:
  explicit Deadline(std::chrono::seconds longest);
  ~Deadline();
  Deadline(const Deadline&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread watch_;
};

}  // namespace cohort::test
