#include "cohort/distribute/coordinator/closure_queue.h"

#include <algorithm>
#include <utility>

#include "cohort/core/log.h"
#include "cohort/core/text.h"

namespace cohort::distribute {
namespace {

std::exception_ptr cancelled(const std::string& why) {
  return std::make_exception_ptr(Error(ErrorCode::Cancelled, "ClusterCoordinator: the function was not run: " + why));
}

// What a callback for a failure throws has nowhere to go.
void call_failed(Closure& closure, const std::exception_ptr& error) {
  try {
    if (closure.failed) closure.failed(error);
  } catch (...) {
    log::warn("ClusterCoordinator: the callback of a failed function threw: " + text_of(std::current_exception()));
  }
}

}  // namespace

ClosureQueue::ClosureQueue(ClosureQueueOptions options) : options_(options) {
  if (options_.capacity == 0 || options_.max_attempts < 1) {
    throw invalid_argument("ClosureQueue", "capacity and max_attempts must be at least 1",
                           {{"capacity", options_.capacity}, {"max_attempts", options_.max_attempts}});
  }
}

void ClosureQueue::set_interrupt(std::function<void()> interrupt) {
  Lock lock(mutex_);
  changed_.wait(lock, [this] { return calls_ == 0; });
  interrupt_ = std::move(interrupt);
}

std::uint64_t ClosureQueue::put(Closure closure) {
  Lock lock(mutex_);
  const std::uint64_t seen = failures_;
  for (;;) {
    settle(lock, seen);
    if (joining_ == 0 && queue_.size() < options_.capacity) break;
    changed_.wait(lock);
  }
  closure.id = next_id_++;
  queue_.push_back(std::move(closure));
  work_.notify_one();
  return next_id_ - 1;
}

void ClosureQueue::wait() {
  Lock lock(mutex_);
  struct Joining {
    explicit Joining(ClosureQueue& of) : queue(of) { ++queue.joining_; }
    ~Joining() {
      --queue.joining_;
      queue.changed_.notify_all();
    }
    ClosureQueue& queue;
  } joining(*this);
  const std::uint64_t seen = failures_;
  for (;;) {
    settle(lock, seen);
    if (idle()) return;
    changed_.wait(lock);
  }
}

bool ClosureQueue::done() {
  Lock lock(mutex_);
  settle(lock, failures_);
  return idle();
}

void ClosureQueue::drop() {
  Lock lock(mutex_);
  drop_queued(lock, false);
}

void ClosureQueue::cancel() {
  Lock lock(mutex_);
  const std::uint64_t seen = failures_;
  begin_cancelling(lock);
  settle(lock, seen);
}

void ClosureQueue::stop() {
  Lock lock(mutex_);
  stopped_ = true;
  drop_queued(lock, false);
  work_.notify_all();
  changed_.notify_all();
}

// Returns when nothing is being cancelled; whoever comes first takes the error, and everyone who waits throws it.
void ClosureQueue::settle(Lock& lock, std::uint64_t failures_seen) {
  while (cancelling_) {
    if (under_way_.empty() && calls_ == 0) {
      cancelling_ = false;
      if (!errors_.empty()) {
        last_failure_ = errors_.take();
        ++failures_;
      }
      changed_.notify_all();
      break;
    }
    changed_.wait(lock);
  }
  if (failures_ != failures_seen) std::rethrow_exception(last_failure_);
  if (stopped_) throw Error(ErrorCode::Cancelled, "ClusterCoordinator: it has been shut down");
}

void ClosureQueue::begin_cancelling(Lock& lock) {
  if (cancelling_) return;
  cancelling_ = true;
  drop_queued(lock, true);
}

void ClosureQueue::drop_queued(Lock& lock, bool interrupt) {
  std::deque<Closure> dropped = std::exchange(queue_, {});
  for (const Closure& closure : dropped) deaths_.erase(closure.id);
  std::string why = "the work was cancelled";
  if (!errors_.empty()) why = "another one failed: " + text_of(errors_.first());
  if (stopped_) why = "the coordinator was shut down";
  ++calls_;
  lock.unlock();
  for (Closure& closure : dropped) call_failed(closure, cancelled(why));
  if (interrupt && interrupt_) interrupt_();
  dropped.clear();
  lock.lock();
  --calls_;
  changed_.notify_all();
}

std::optional<Closure> ClosureQueue::get() {
  Lock lock(mutex_);
  ++idle_workers_;
  work_.wait(lock, [this] { return stopped_ || may_get(); });
  --idle_workers_;
  if (stopped_) return std::nullopt;
  return take();
}

std::optional<Closure> ClosureQueue::get_ahead(std::size_t under_way, std::size_t workers) {
  Lock lock(mutex_);
  // A suspect travels alone, so that the next death tells whether it was the one.
  if (!may_get() || queue_.front().attempts > 0) return std::nullopt;
  const std::size_t spoken_for = idle_workers_ + (under_way > 1 ? (under_way - 1) * workers : 0);
  if (queue_.size() <= spoken_for) return std::nullopt;
  return take();
}

Closure ClosureQueue::take() {
  Closure closure = std::move(queue_.front());
  queue_.pop_front();
  under_way_.push_back(closure.id);
  changed_.notify_all();
  return closure;
}

void ClosureQueue::put_back(std::vector<Closure> closures, const std::string& task, const std::exception_ptr& why) {
  for (Closure& closure : closures) {
    Lock lock(mutex_);
    ++closure.attempts;
    deaths_[closure.id].push_back(task);
    if (cancelling_ || stopped_) {
      lock.unlock();
      mark_cancelled(closure);
    } else if (closure.attempts >= options_.max_attempts) {
      const auto error = std::make_exception_ptr(too_many_attempts(closure, why));
      lock.unlock();
      mark_failed(closure, error);
    } else {
      insert(std::move(closure));
    }
  }
}

void ClosureQueue::put_back(Closure closure) {
  Lock lock(mutex_);
  if (!cancelling_ && !stopped_) return insert(std::move(closure));
  lock.unlock();
  mark_cancelled(closure);
}

void ClosureQueue::insert(Closure closure) {
  // Older ones first, also when several workers die: so the front is the oldest that waits.
  const std::uint64_t id = closure.id;
  const auto place = std::find_if(queue_.begin(), queue_.end(), [id](const Closure& other) { return other.id > id; });
  queue_.insert(place, std::move(closure));
  std::erase(under_way_, id);
  work_.notify_one();
}

void ClosureQueue::renew_id(Closure& closure) {
  Lock lock(mutex_);
  const std::uint64_t before = std::exchange(closure.id, next_id_++);
  std::replace(under_way_.begin(), under_way_.end(), before, closure.id);
  if (auto deaths = deaths_.extract(before)) {
    deaths.key() = closure.id;
    deaths_.insert(std::move(deaths));
  }
}

void ClosureQueue::mark_finished(Closure& closure, ClosureResult& result) {
  std::exception_ptr error;
  try {
    if (closure.done) closure.done(result);
  } catch (...) {
    error = std::current_exception();
  }
  Lock lock(mutex_);
  if (error) {
    errors_.add(error);
    begin_cancelling(lock);
  }
  end(closure.id);
}

void ClosureQueue::mark_failed(Closure& closure, const std::exception_ptr& error) {
  call_failed(closure, error);
  Lock lock(mutex_);
  errors_.add(error);
  begin_cancelling(lock);
  end(closure.id);
}

void ClosureQueue::mark_cancelled(Closure& closure) {
  Lock lock(mutex_);
  std::string why = stopped_ ? "the coordinator was shut down" : "the work was cancelled";
  if (!errors_.empty()) why = "another one failed: " + text_of(errors_.first());
  lock.unlock();
  call_failed(closure, cancelled(why));
  lock.lock();
  end(closure.id);
}

void ClosureQueue::fail(const std::exception_ptr& error) {
  Lock lock(mutex_);
  errors_.add(error);
  begin_cancelling(lock);
  changed_.notify_all();
}

void ClosureQueue::end(std::uint64_t id) {
  std::erase(under_way_, id);
  deaths_.erase(id);
  changed_.notify_all();
}

Error ClosureQueue::too_many_attempts(const Closure& closure, const std::exception_ptr& why) const {
  return Error(ErrorCode::Aborted, "ClusterCoordinator",
               "a function must not end the workers it runs on; this one was given up",
               {{"closure", closure.id}, {"died with it", join(deaths_.at(closure.id))}, {"last error", text_of(why)}},
               "See those workers' own output for what ended them.");
}

bool ClosureQueue::cancelling() const {
  Lock lock(mutex_);
  return cancelling_ || stopped_;
}

bool ClosureQueue::busy() const {
  Lock lock(mutex_);
  return !idle();
}

std::uint64_t ClosureQueue::all_done_below() const {
  Lock lock(mutex_);
  std::uint64_t smallest = queue_.empty() ? next_id_ : queue_.front().id;
  for (const std::uint64_t id : under_way_) smallest = std::min(smallest, id);
  return smallest;
}

}  // namespace cohort::distribute
