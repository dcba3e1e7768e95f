#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/distribute/protocol/message.h"
#include "cohort/distribute/worker/task_limits.h"

namespace cohort::proto {
class HelloProto;
}

namespace cohort::distribute {

struct HeldJob;

// The jobs that a task takes part in, side by side: each has a name, and one chief leads it. Thread-safe.
class HeldJobs {
 public:
  // `task` is its name, for errors. Of the limits only those on jobs count here.
  HeldJobs(std::string task, const TaskLimits& limits) : task_(std::move(task)), limits_(limits) {}

  // The job that the chief of that id leads, made when it comes for the first time. A job of the same name ends, once
  // its chief is gone or where the newcomer may take over; others go on. Throws FailedPrecondition while its chief is
  // there, Aborted for a chief whose job has ended here, ResourceExhausted when there are too many.
  std::shared_ptr<HeldJob> greet(std::uint64_t id, const proto::HelloProto& hello,
                                 const std::function<std::shared_ptr<HeldJob>()>& make);
  // The one that a message is of. Throws when there is none.
  std::shared_ptr<HeldJob> find(const Head& head) const;
  // Its chief is done with it.
  void end(const std::shared_ptr<HeldJob>& job);

  // A way of a chief, by its id.
  void caller_came(std::uint64_t caller);
  void caller_left(std::uint64_t caller);
  // Steps begun for that chief; 0: for all.
  std::uint64_t progress(std::uint64_t caller) const;

  struct Listed {
    std::shared_ptr<HeldJob> job;
    bool led;  // its chief has a way here
  };
  // In the order they came.
  std::vector<Listed> all() const;

  // Waits until the last job has ended, or its chief is gone for too long, unless the task is to stay; or until stop().
  void wait();
  // Closures that have begun go on and others are refused. Returns when none runs, or at that time; whether one has.
  bool leave(std::chrono::steady_clock::time_point until);
  void stop();
  // Or stopped.
  bool is_leaving() const;

 private:
  enum class Gone { Ended, TakenOver, Orphaned };
  struct Entry {
    std::uint64_t id;
    std::shared_ptr<HeldJob> job;
    std::optional<std::chrono::steady_clock::time_point> orphan_since;  // when its chief went
  };
  using Lock = std::unique_lock<std::mutex>;
  // With the lock:
  const Entry* find_id(std::uint64_t id) const;
  const Entry* find_name(const std::string& name) const;
  std::optional<Gone> reason_gone(std::uint64_t id) const;
  bool is_led(const Entry& entry) const { return callers_.contains(entry.id); }
  void wait_for_place(Lock& lock, const proto::HelloProto& hello);
  // What it takes out of the list is let go of without the lock.
  std::shared_ptr<HeldJob> take_out(std::uint64_t id, Gone reason);
  std::vector<std::shared_ptr<HeldJob>> take_orphans();
  bool runs_a_closure() const;
  std::string names() const;
  Error gone(std::string_view method, Gone reason) const;

  const std::string task_;
  const TaskLimits& limits_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::vector<Entry> jobs_;
  bool ended_ = false;                    // the last job is over
  bool leaving_ = false;                  // no closure begins any more
  bool stopped_ = false;                  // for good
  std::map<std::uint64_t, int> callers_;  // ways to here that each has
  std::deque<std::pair<std::uint64_t, Gone>> gone_;
};

}  // namespace cohort::distribute
