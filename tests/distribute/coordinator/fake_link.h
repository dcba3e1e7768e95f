#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "cohort/distribute/coordinator/worker_link.h"

namespace cohort::distribute::test {

// A worker that is a function: runs closures when their results are asked for, dies and comes back when told.
class FakeLink : public WorkerLink {
 public:
  using Run = std::function<ClosureResult(FakeLink& link, const Closure& closure)>;

  explicit FakeLink(std::string task, Run run = {}) : task_(std::move(task)), run_(std::move(run)) {}

  const std::string& task() const override { return task_; }

  void start(const Closure& closure, std::uint64_t) override {
    std::lock_guard lock(mutex_);
    check_alive();
    under_way_.push_back(closure);
    most_under_way = std::max(most_under_way.load(), under_way_.size());
    ++starts;
  }

  ClosureResult finish(const Closure&) override {
    std::unique_lock lock(mutex_);
    check_alive();
    Closure closure = under_way_.front();
    lock.unlock();
    ClosureResult result{.steps = closure.steps};
    std::exception_ptr error;
    try {
      if (run_) result = run_(*this, closure);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    check_alive();
    under_way_.pop_front();
    const bool cancelled = cancelled_ > 0;
    if (cancelled) --cancelled_;
    if (error) std::rethrow_exception(error);
    if (cancelled) throw Error(ErrorCode::Cancelled, task_ + ": cancelled");
    return result;
  }

  void cancel() override {
    std::lock_guard lock(mutex_);
    ++cancels;
    cancelled_ = under_way_.size();
    changed_.notify_all();
  }

  bool reconnect() override {
    std::lock_guard lock(mutex_);
    ++reconnects;
    if (!may_return_) return false;
    alive_ = true;
    return true;
  }

  // From any thread. What is in flight is lost.
  void die(bool may_return) {
    std::lock_guard lock(mutex_);
    alive_ = false;
    may_return_ = may_return;
    under_way_.clear();
    cancelled_ = 0;
    changed_.notify_all();
  }
  void let_return() {
    std::lock_guard lock(mutex_);
    may_return_ = true;
  }

  // For a run function: time passes, less of it when the worker dies or is to cancel.
  void work_for(std::chrono::microseconds duration) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, duration, [this] { return !alive_ || cancelled_ > 0; });
  }

  std::atomic<std::size_t> most_under_way{0};
  std::atomic<int> starts{0}, cancels{0}, reconnects{0};

 private:
  void check_alive() const {
    if (!alive_) throw Error(ErrorCode::Unavailable, task_ + ": connection reset");
  }

  const std::string task_;
  const Run run_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Closure> under_way_;
  std::size_t cancelled_ = 0;  // of those in flight
  bool alive_ = true, may_return_ = true;
};

}  // namespace cohort::distribute::test
