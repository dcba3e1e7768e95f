#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>

#include "cohort/distribute/collective/replica_group.h"

namespace cohort::distribute {

// Hands the keeper of variables its part of functions that replicas call, one after the other, while their code runs.
// Thread-safe.
class CentralCalls {
 public:
  //   group: in which replicas and the keeper meet.
  CentralCalls(int replicas, ReplicaGroup& group) : replicas_(replicas), group_(group) {}

  // Before the code of replicas, of all of them.
  void begin();
  // The keeper's work, on its thread: every part that it is given, until all replicas have left; then throws what a
  // part has thrown. Until then that ends the meetings with the keeper alone: replicas may be in one of their own,
  // whose memory all of them use.
  void serve();
  // Gives it a part, when the one before is done.
  void give(std::function<void()> part);
  // Returns when the part is done; throws what it has thrown.
  void await();
  // The code of one replica has ended.
  void leave();

 private:
  void fail(const std::exception_ptr& error);

  const int replicas_;
  ReplicaGroup& group_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::function<void()> part_;  // empty: there is none to do
  std::exception_ptr error_;
  int running_ = 0;  // replicas whose code has not ended
};

// The code of one replica, which leaves when it ends; nullptr: there is no keeper.
class CentralCaller {
 public:
  explicit CentralCaller(CentralCalls* calls) : calls_(calls) {}
  ~CentralCaller() {
    if (calls_) calls_->leave();
  }
  CentralCaller(const CentralCaller&) = delete;

 private:
  CentralCalls* const calls_;
};

}  // namespace cohort::distribute
