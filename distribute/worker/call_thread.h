#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace cohort::distribute {

// A thread that makes one call after the other for its owner, who goes on meanwhile. Used by one thread at a time.
class CallThread {
 public:
  CallThread();
  // Waits for the call that is under way.
  ~CallThread();
  CallThread(const CallThread&) = delete;

  void start(std::function<void()> call);
  // Waits until the call has ended; what it threw, if anything.
  std::exception_ptr finish();

 private:
  void run();

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::function<void()> call_;
  std::exception_ptr error_;
  bool ends_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace cohort::distribute
