#pragma once

#include <algorithm>
#include <chrono>
#include <mutex>

namespace cohort::distribute::rpc {

// When to try again what has failed: after ten times what the failure took, so that most do not wait for one in vain,
// however long each is. Thread-safe.
class Backoff {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr int kTimesLonger = 10;
  static constexpr std::chrono::milliseconds kShortestPause{50}, kLongestPause{60'000};

  // Whether the caller is to try now; it then says how that has ended.
  bool may_try(Clock::time_point now) {
    std::lock_guard lock(mutex_);
    if (now < next_) return false;
    // After a failure others need not find out beside this one.
    next_ = now + pause_;
    return true;
  }
  void worked() {
    std::lock_guard lock(mutex_);
    pause_ = {};
    next_ = {};
  }
  void failed(Clock::time_point begun, Clock::time_point now) {
    std::lock_guard lock(mutex_);
    pause_ = std::clamp<Clock::duration>(kTimesLonger * (now - begun), kShortestPause, kLongestPause);
    next_ = now + pause_;
  }

 private:
  std::mutex mutex_;  // guards what follows
  Clock::duration pause_{0};
  Clock::time_point next_;
};

}  // namespace cohort::distribute::rpc
