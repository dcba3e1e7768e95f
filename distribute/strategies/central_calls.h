#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>

namespace cohort::distribute {

// Hands the keeper of variables its part of functions that replicas call, one after the other, while their code runs.
// Thread-safe.
class CentralCalls {
 public:
  explicit CentralCalls(int replicas) : replicas_(replicas) {}

  // Before the code of replicas, of all of them.
  void begin();
  // The keeper's work, on its thread: every part that it is given, until all replicas have left. What a part throws
  // ends it.
  void serve();
  // Gives it a part, when the one before is done.
  void give(std::function<void()> part);
  // Returns when the part is done, or the keeper has failed.
  void await();
  // The code of one replica has ended.
  void leave();

 private:
  const int replicas_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::function<void()> part_;  // empty: there is none to do
  bool serves_ = true;
  int running_ = 0;  // replicas whose code has not ended
};

// The code of one replica, which leaves when it ends.
class CentralCaller {
 public:
  explicit CentralCaller(CentralCalls& calls) : calls_(calls) {}
  ~CentralCaller() { calls_.leave(); }
  CentralCaller(const CentralCaller&) = delete;

 private:
  CentralCalls& calls_;
};

}  // namespace cohort::distribute
