#pragma once

#include <condition_variable>
#include <mutex>

#include "cohort/core/thread_scope.h"

namespace cohort::distribute {

// Lets threads of replicas run one at a time: one goes on until it waits for the others, or ends. They begin in order.
class ReplicaTurns {
 public:
  // Waits for the turn of a replica that has not begun.
  void begin(int replica);
  // Waits for another turn.
  void take();
  // Lets another one run.
  void give();

 private:
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  int begun_ = 0;       // replicas
  bool taken_ = false;  // one runs
};

// A replica's part in it.
class ReplicaTurn {
 public:
  ReplicaTurn(ReplicaTurns& turns, int replica) : turns_(turns), current_(&turns) { turns_.begin(replica); }
  ~ReplicaTurn() { turns_.give(); }
  ReplicaTurn(const ReplicaTurn&) = delete;

  // Whether this thread runs in a turn: others wait for it.
  static bool taken() { return Current::current() != nullptr; }

 private:
  friend class ReplicaPause;
  using Current = ThreadScope<ReplicaTurns, ReplicaTurns*>;
  ReplicaTurns& turns_;
  const Current current_;
};

// While one lives, its thread has given its turn to others; without effect outside of turns.
class ReplicaPause {
 public:
  ReplicaPause() : turns_(ReplicaTurn::Current::current()), none_(nullptr) {
    if (turns_) turns_->give();
  }
  ~ReplicaPause() {
    if (turns_) turns_->take();
  }
  ReplicaPause(const ReplicaPause&) = delete;

 private:
  ReplicaTurns* const turns_;
  const ReplicaTurn::Current none_;
};

}  // namespace cohort::distribute
