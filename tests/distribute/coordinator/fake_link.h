#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
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

  void start(const Closure& closure) override {
    std::lock_guard lock(mutex_);
    if (under_way_.empty()) began_ = false;
    check_alive();
    under_way_.push_back(closure);
    most_under_way = std::max(most_under_way.load(), under_way_.size());
    ++starts;
  }

  ClosureResult finish(const Closure&) override {
    std::unique_lock lock(mutex_);
    check_alive();
    Closure closure = under_way_.front();
    began_ = true;
    lock.unlock();
    ClosureResult result{.steps = closure.steps};
    std::exception_ptr error;
    try {
      working_ = true;
      if (run_) result = run_(*this, closure);
    } catch (...) {
      error = std::current_exception();
    }
    working_ = false;
    lock.lock();
    check_alive();
    under_way_.pop_front();
    const bool cancelled = cancelled_ > 0;
    if (cancelled) --cancelled_;
    if (error) std::rethrow_exception(error);
    if (cancelled) throw Error(ErrorCode::Cancelled, task_ + ": cancelled");
    return result;
  }

  bool wanted() const override { return !has_left; }
  bool alive() override { return !noticed_idle_deaths || is_alive(); }
  bool began() const override {
    std::lock_guard lock(mutex_);
    return began_;
  }
  std::uint64_t incarnation() const override {
    std::lock_guard lock(mutex_);
    return incarnation_known_ ? incarnation_ : 0;
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
    if (!may_return_ || has_left) {
      incarnation_known_ = false;
      return false;
    }
    incarnation_known_ = true;
    alive_ = true;
    if (!same_process_) ++incarnation_;
    return true;
  }

  std::optional<std::uint64_t> movement() override { return working_ ? std::optional<std::uint64_t>(0) : std::nullopt; }
  void abandon(const std::string& why) override {
    {
      std::lock_guard lock(mutex_);
      abandoned = why;
    }
    be_lost(true, true);
  }

  // From any thread. What is in flight is lost.
  void die(bool may_return) { be_lost(may_return, false); }
  // The way to it breaks, it lives on.
  void be_cut_off() { be_lost(true, true); }
  void be_lost(bool may_return, bool same_process) {
    std::lock_guard lock(mutex_);
    alive_ = false;
    same_process_ = same_process;
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

  // The same for one that heeds no cancel.
  void work_until_lost() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !alive_; });
  }

  std::atomic<std::size_t> most_under_way{0};
  std::atomic<int> starts{0}, cancels{0}, reconnects{0};
  std::string abandoned;
  std::atomic<bool> noticed_idle_deaths{true};  // false: start() finds out
  std::atomic<bool> has_left{false};

 private:
  bool is_alive() const {
    std::lock_guard lock(mutex_);
    return alive_;
  }
  void check_alive() const {
    if (!alive_) throw Error(ErrorCode::Unavailable, task_ + ": connection reset");
  }

  static std::uint64_t new_incarnation() {
    static std::atomic<std::uint64_t> last = 0;
    return last += 1'000'000;
  }

  const std::string task_;
  const Run run_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Closure> under_way_;
  std::size_t cancelled_ = 0;  // of those in flight
  std::atomic<bool> working_{false};
  bool alive_ = true, may_return_ = true, same_process_ = false, began_ = false, incarnation_known_ = true;
  std::uint64_t incarnation_ = new_incarnation();
};

}  // namespace cohort::distribute::test
