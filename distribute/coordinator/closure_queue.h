#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cohort/distribute/coordinator/closure.h"
#include "cohort/distribute/coordinator/collected_errors.h"

namespace cohort::distribute {

struct ClosureQueueOptions {
  std::size_t capacity = 256 * 1024;
  int max_attempts = 3;  // workers that may die with one closure before it counts as the cause
};

// Closures in the order they were scheduled, those that wait for a worker and those in flight. Thread-safe.
//
// The error rule: with the first error what waits is dropped and what is in flight is told to end, both with Cancelled.
// The next put, wait or done, or whoever is inside one, waits until nothing runs and throws that error; then the queue
// is as new.
class ClosureQueue {
 public:
  explicit ClosureQueue(ClosureQueueOptions options = {});
  ClosureQueue(const ClosureQueue&) = delete;
  // What makes closures in flight end soon. Before the first use; nullptr when there is nobody left to tell.
  void set_interrupt(std::function<void()> interrupt);

  // For the program's threads.

  // Gives the closure its id and queues it. Waits while the queue is full or somebody is in wait(). When it throws, the
  // closure was not queued and its callbacks are not called.
  std::uint64_t put(Closure closure);
  // Until nothing is queued or in flight.
  void wait();
  // True when nothing is queued or in flight.
  bool done();
  // Drops what waits for a worker, with Cancelled; what is in flight goes on.
  void drop();
  // Drops what waits, makes what is in flight end, and waits until nothing runs; throws an error met meanwhile.
  void cancel();
  // For good: drops what waits; get() returns nothing, put() and wait() throw.
  void stop();

  // For the workers' threads. A closure they got ends in put_back or one of the marks.

  // Waits for a closure; nothing once the queue has stopped.
  std::optional<Closure> get();
  // One to have in flight behind `under_way` others, when enough are queued that no one of `workers` goes without.
  std::optional<Closure> get_ahead(std::size_t under_way, std::size_t workers);
  // Back to the front, since `task` died with them for the reason `why`; never waits. Ids and leases stay, attempts
  // grow; the one with too many attempts fails.
  void put_back(std::vector<Closure> closures, const std::string& task, const std::exception_ptr& why);
  // The same for one that never reached a worker: that is no attempt.
  void put_back(Closure closure);
  // For a closure in flight that ran no step and gets other data: other work, which nobody may take for a repeat.
  void renew_id(Closure& closure);
  void mark_finished(Closure& closure, ClosureResult& result);
  void mark_failed(Closure& closure, const std::exception_ptr& error);
  // It was told to end, and did.
  void mark_cancelled(Closure& closure);
  // An error of no single closure.
  void fail(const std::exception_ptr& error);
  // True while closures in flight are to end.
  bool cancelling() const;
  // True when something is queued or in flight.
  bool busy() const;
  // The smallest id whose closure has not ended.
  std::uint64_t all_done_below() const;

 private:
  using Lock = std::unique_lock<std::mutex>;

  bool idle() const { return queue_.empty() && under_way_.empty() && calls_ == 0; }
  bool may_get() const { return !stopped_ && !cancelling_ && !queue_.empty(); }
  Closure take();
  void insert(Closure closure);
  void settle(Lock& lock, std::uint64_t failures_seen);
  void begin_cancelling(Lock& lock);
  void drop_queued(Lock& lock, bool interrupt);
  void end(std::uint64_t id);
  Error too_many_attempts(const Closure& closure, const std::exception_ptr& why) const;

  const ClosureQueueOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable work_;     // for get()
  std::condition_variable changed_;  // for the program's threads
  std::deque<Closure> queue_;        // ids grow
  std::vector<std::uint64_t> under_way_;
  std::map<std::uint64_t, std::vector<std::string>> deaths_;  // tasks that died with a closure
  std::uint64_t next_id_ = 1;
  std::size_t idle_workers_ = 0;  // in get()
  int joining_ = 0;               // in wait()
  int calls_ = 0;                 // threads calling back for dropped closures, or the interrupt
  bool cancelling_ = false;       // until nothing runs and, after an error, somebody has come for it
  bool stopped_ = false;
  CollectedErrors errors_;
  std::uint64_t failures_ = 0;  // errors thrown so far, so that everyone who waits meanwhile gets it
  std::exception_ptr last_failure_;
  std::function<void()> interrupt_;
};

}  // namespace cohort::distribute
