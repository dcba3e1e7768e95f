#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "cohort/distribute/rpc/transport.h"

namespace cohort::distribute::rpc {

// Cancels streams whose time is up. Thread-safe.
class StreamDeadlines {
 public:
  using Clock = std::chrono::steady_clock;
  using Watch = std::pair<Clock::time_point, std::uint64_t>;
  StreamDeadlines();
  ~StreamDeadlines();
  StreamDeadlines(const StreamDeadlines&) = delete;

  // Cancels the stream then, unless the watch is forgotten before.
  Watch watch(Clock::time_point deadline, std::shared_ptr<Stream> stream);
  // False where it was too late.
  bool forget(const Watch& watch);

 private:
  void wait();

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool stopping_ = false;
  std::uint64_t numbers_ = 0;
  std::map<Watch, std::shared_ptr<Stream>> watched_;
  std::thread thread_;
};

}  // namespace cohort::distribute::rpc
