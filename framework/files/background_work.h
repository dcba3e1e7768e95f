#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace cohort {

// A thread of low priority that does one piece of work at a time, beside whoever gives it. Used by one thread at a
// time.
class BackgroundWork {
 public:
  // `who` is for messages.
  explicit BackgroundWork(std::string who) : who_(std::move(who)) {}
  // Waits; an error nobody has seen yet is logged.
  ~BackgroundWork();
  BackgroundWork(const BackgroundWork&) = delete;

  // Begins a piece of work once the one before is done. That one's error is thrown here, and nothing begun.
  void start(std::function<void()> work);
  // Until nothing is in flight; throws the work's error, or DeadlineExceeded.
  void wait(std::chrono::milliseconds timeout = kPatience);
  bool busy() const;

  static constexpr std::chrono::milliseconds kPatience = std::chrono::minutes(15);

 private:
  void run();

  std::string who_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> work_;  // not done yet
  std::exception_ptr error_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace cohort
