#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace cohort::distribute::rpc {

class GrpcLink;

// The thread that looks after all links of this process: it takes their heartbeats and finds the dead and the silent.
// Thread-safe.
class LinkWatch {
 public:
  // The one that links share; it ends with the last of them.
  static std::shared_ptr<LinkWatch> shared();
  // It looks again at the latest after this time.
  static constexpr std::chrono::milliseconds kLongestPause{100};

  LinkWatch();
  ~LinkWatch();
  void add(GrpcLink* link);
  // Nobody looks at the link any more when it returns.
  void remove(GrpcLink* link);

 private:
  using Clock = std::chrono::steady_clock;
  void run();
  Clock::duration pause() const;

  std::mutex mutex_;  // guards what follows
  std::condition_variable stop_;
  bool stopping_ = false;
  std::vector<GrpcLink*> links_;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace cohort::distribute::rpc
