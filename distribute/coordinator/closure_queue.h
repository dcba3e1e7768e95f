#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/distribute/coordinator/closure.h"
#include "cohort/distribute/coordinator/closure_group.h"

namespace cohort::distribute {

struct ClosureQueueOptions {
  std::size_t capacity = 256 * 1024;
  int max_attempts = 3;  // workers that may die with one closure before it counts as the cause
  // How long put() waits for room while no closure is taken or ends.
  std::chrono::milliseconds put_timeout{600'000};
};

// A worker's process that was lost.
struct LostIncarnation {
  std::string task;
  std::uint64_t incarnation = 0;
};

// Closures in the order they were scheduled, those that wait for a worker and those in flight. Thread-safe.
//
// The error rule, for each group of closures by itself: with the first error what waits is dropped and what is in
// flight is told to end, both with Cancelled. The next put, wait or done, or whoever is inside one, waits until nothing
// of the group runs and throws that error; then the group is as new. Without a group that of all closures which have
// none is meant.
class ClosureQueue {
 public:
  explicit ClosureQueue(ClosureQueueOptions options = {});
  ClosureQueue(const ClosureQueue&) = delete;
  // What makes closures in flight end soon. Before the first use; nullptr when there is nobody left to tell.
  void set_interrupt(std::function<void()> interrupt);
  // What makes sure that closures that were cancelled, or lost with their worker, change nothing any more; called when
  // nothing runs, before an error is thrown or cancel() returns. Before the first use.
  void set_fence(std::function<void()> fence);

  // For the program's threads.

  // Gives the closure its id and queues it. Waits while the queue is full or its group is waited for; throws
  // DeadlineExceeded when nothing moves for put_timeout. When it throws, the closure was not queued and its callbacks
  // are not called.
  std::uint64_t put(Closure closure);
  // Until nothing of the group is queued or in flight.
  void wait(const std::shared_ptr<ClosureGroup>& group = nullptr);
  // True when nothing of the group is queued or in flight.
  bool done(const std::shared_ptr<ClosureGroup>& group = nullptr);
  // Drops what waits for a worker, with Cancelled; what is in flight goes on.
  void drop(const std::shared_ptr<ClosureGroup>& group = nullptr);
  // Drops what waits, makes what is in flight end, and waits until nothing runs; throws an error met meanwhile.
  void cancel(const std::shared_ptr<ClosureGroup>& group = nullptr);
  // For good: drops what waits; get() returns nothing, put() and wait() throw.
  void stop();

  // For the workers' threads. A closure they got ends in put_back or one of the marks.

  // Waits for a closure; nothing when none has come for so long, or once the queue has stopped.
  std::optional<Closure> get(std::chrono::milliseconds longest = std::chrono::hours(24));
  bool stopped() const;
  // One to have in flight behind `under_way` others, when enough are queued that no one of `workers` goes without.
  std::optional<Closure> get_ahead(std::size_t under_way, std::size_t workers);
  // Back to its place at the front: no worker had begun it. Never waits. Id and lease stay.
  void put_back(Closure closure);
  // The same for one that a worker had begun when it was lost for the reason `why`; it fails once as many
  // incarnations as may have been lost with it, each counted once.
  void put_back(Closure closure, const LostIncarnation& lost, const std::exception_ptr& why);
  // Whether the closure fails with the next one that is lost with it.
  bool on_last_attempt(const Closure& closure) const;
  // It was only the way to it that broke: nothing counts its loss any more.
  void is_alive(std::uint64_t incarnation);
  // For a closure in flight that ran no step and gets other data: other work, which nobody may take for a repeat.
  void renew_id(Closure& closure);
  void mark_finished(Closure& closure, ClosureResult& result);
  void mark_failed(Closure& closure, const std::exception_ptr& error);
  // It was told to end, and did.
  void mark_cancelled(Closure& closure);
  // An error of no single closure: of all groups that have any, else of all groups.
  void fail(const std::exception_ptr& error);
  // True while the closure, and others of its group, are to end.
  bool cancelling(const Closure& closure = {}) const;
  // The same, without a lock as long as nobody has cancelled anything since the closure was taken.
  bool cancelled_since_taken(const Closure& closure) const {
    return cancels_ != closure.cancels && cancelling(closure);
  }
  // True while closures in flight that were cancelled have not ended.
  bool awaits_cancelled() const;
  // How often closures in flight were told to end, whatever their group: workers cannot tell groups apart.
  std::uint64_t interrupts() const { return interrupts_.load(std::memory_order_acquire); }
  // Whether somebody has done so since there were that many, or is about to.
  bool interrupted_since(std::uint64_t interrupts) const;
  // A worker alone is told so.
  void note_interrupt();
  // Closures that no worker has yet.
  std::size_t waiting() const { return queued_; }
  // True when something is queued or in flight.
  bool busy() const;
  // The smallest id whose closure has not ended.
  std::uint64_t all_done_below() const;

 private:
  using Lock = std::unique_lock<std::mutex>;

  using Group = std::shared_ptr<ClosureGroup>;

  const Group& known(const Group& group);
  ClosureGroup& group_of(const Closure& closure) const { return closure.group ? *closure.group : *own_group_; }
  bool may_get() const { return !stopped_ && !queue_.empty(); }
  Closure take();
  void wake_worker();
  std::uint64_t smallest_id() const;
  void wait_for_room(Lock& lock, ClosureGroup& group);
  Error no_room(const ClosureGroup& group) const;
  void insert(Closure closure);
  void settle(Lock& lock, ClosureGroup& group, std::uint64_t failures_seen);
  void fence(Lock& lock, ClosureGroup& group);
  void begin_cancelling(Lock& lock, const Group& group);
  std::vector<Group> all_groups() const;
  std::deque<Closure> take_queued(ClosureGroup& group);
  void drop_queued(Lock& lock, const Group& group, bool interrupt);
  void end(const Closure& closure);
  std::string why_cancelled(const ClosureGroup& group) const;
  Error too_many_attempts(const Closure& closure, const std::exception_ptr& why) const;

  const ClosureQueueOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable work_;     // for get()
  std::condition_variable changed_;  // for the program's threads
  std::deque<Closure> queue_;        // ids grow
  std::vector<std::uint64_t> under_way_;
  std::map<std::uint64_t, std::vector<LostIncarnation>> deaths_;  // what was lost with a closure
  std::uint64_t next_id_ = 1;
  std::uint64_t moves_ = 0;       // closures taken or ended so far
  std::size_t idle_workers_ = 0;  // in get()
  bool worker_wakes_ = false;     // one of them was told to
  int waiting_for_room_ = 0;      // in put()
  int calls_ = 0;                 // threads calling back for dropped closures, or the interrupt
  bool stopped_ = false;
  const Group own_group_ = std::make_shared<ClosureGroup>();
  std::vector<std::weak_ptr<ClosureGroup>> groups_;  // the others that closures were put into
  std::function<void()> interrupt_, fence_;
  std::atomic<std::uint64_t> interrupts_{0};
  std::atomic<std::uint64_t> cancels_{0};  // counted before anybody is interrupted
  std::atomic<std::size_t> queued_{0};     // the queue's size, for those who only want to know whether to look
};

}  // namespace cohort::distribute
