#include "cohort/distribute/coordinator/closure_queue.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <optional>
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

void ClosureQueue::set_fence(std::function<void()> fence) {
  Lock lock(mutex_);
  fence_ = std::move(fence);
}

const ClosureQueue::Group& ClosureQueue::known(const Group& group) {
  if (!group) return own_group_;
  if (!std::exchange(group->known_, true)) {
    std::erase_if(groups_, [](const auto& each) { return each.expired(); });
    groups_.push_back(group);
  }
  return group;
}

std::uint64_t ClosureQueue::put(Closure closure) {
  Lock lock(mutex_);
  ClosureGroup& group = *known(closure.group);
  wait_for_room(lock, group);
  const std::uint64_t id = closure.id = next_id_++;
  ++group.queued_;
  queue_.push_back(std::move(closure));
  queued_ = queue_.size();
  wake_worker();
  return id;
}

void ClosureQueue::wait_for_room(Lock& lock, ClosureGroup& group) {
  const auto has_room = [&] { return group.joining_ == 0 && queue_.size() < options_.capacity; };
  const std::uint64_t seen = group.failures_;
  std::optional<std::uint64_t> moves;
  std::chrono::steady_clock::time_point deadline;
  for (;;) {
    settle(lock, group, seen);
    if (has_room()) return;
    if (moves != moves_) {
      moves = moves_;
      deadline = std::chrono::steady_clock::now() + options_.put_timeout;
    }
    ++waiting_for_room_;
    const bool in_time = changed_.wait_until(lock, deadline) == std::cv_status::no_timeout;
    --waiting_for_room_;
    if (!in_time && moves == moves_ && !group.cancelling_ && !stopped_ && !has_room()) throw no_room(group);
  }
}

Error ClosureQueue::no_room(const ClosureGroup& group) const {
  const char* waits_for = group.joining_ > 0 ? "another thread's join()" : "a worker that takes a closure";
  return Error(ErrorCode::DeadlineExceeded, "ClusterCoordinator", "room for another closure is expected in time",
               {{"waits for", waits_for},
                {"seconds without a change", static_cast<double>(options_.put_timeout.count()) / 1000.0},
                {"queued", queue_.size()},
                {"capacity", options_.capacity},
                {"in flight", "[" + join(under_way_) + "]"}},
               "See the workers' own output for what they do.");
}

void ClosureQueue::wait(const Group& of) {
  Lock lock(mutex_);
  const Group group = known(of);
  struct Joining {
    Joining(ClosureQueue& of, ClosureGroup& waited_for) : queue(of), group(waited_for) { ++group.joining_; }
    ~Joining() {
      --group.joining_;
      queue.changed_.notify_all();
    }
    ClosureQueue& queue;
    ClosureGroup& group;
  } joining(*this, *group);
  const std::uint64_t seen = group->failures_;
  for (;;) {
    settle(lock, *group, seen);
    if (group->idle()) return;
    changed_.wait(lock);
  }
}

bool ClosureQueue::done(const Group& of) {
  Lock lock(mutex_);
  const Group group = known(of);
  settle(lock, *group, group->failures_);
  return group->idle();
}

void ClosureQueue::drop(const Group& of) {
  Lock lock(mutex_);
  drop_queued(lock, known(of), false);
}

void ClosureQueue::cancel(const Group& of) {
  Lock lock(mutex_);
  const Group group = known(of);
  const std::uint64_t seen = group->failures_;
  begin_cancelling(lock, group);
  settle(lock, *group, seen);
}

void ClosureQueue::stop() {
  Lock lock(mutex_);
  stopped_ = true;
  ++cancels_;
  for (const Group& group : all_groups()) drop_queued(lock, group, false);
  work_.notify_all();
  changed_.notify_all();
}

// Returns when nothing of the group is being cancelled; whoever comes first takes the error, and everyone who waits
// throws it.
void ClosureQueue::settle(Lock& lock, ClosureGroup& group, std::uint64_t failures_seen) {
  while (group.cancelling_) {
    if (group.under_way_ == 0 && group.calls_ == 0) {
      fence(lock, group);
      group.cancelling_ = false;
      if (!group.errors_.empty()) {
        group.last_failure_ = group.errors_.take();
        ++group.failures_;
      }
      changed_.notify_all();
      break;
    }
    changed_.wait(lock);
  }
  if (group.failures_ != failures_seen) std::rethrow_exception(group.last_failure_);
  if (stopped_) throw Error(ErrorCode::Cancelled, "ClusterCoordinator: it has been shut down");
}

// A fence knows no groups: a ps refuses what closures of others send, too, if they were sent to their workers before
// it. Nothing of theirs is lost by that. What is refused was not applied, so the closure ends with Cancelled; because
// the fence counts as an interrupt it is put back, as no attempt, and is sent again with the epoch of the fence. It
// keeps its id: steps that a ps has applied are repeats to it, as those of a worker that was lost are.
void ClosureQueue::fence(Lock& lock, ClosureGroup& group) {
  if (!fence_) return;
  ++calls_;
  ++group.calls_;
  lock.unlock();
  std::exception_ptr error;
  try {
    fence_();
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  ++interrupts_;
  --calls_;
  --group.calls_;
  if (error) group.errors_.add(error);
}

void ClosureQueue::begin_cancelling(Lock& lock, const Group& group) {
  if (group->cancelling_) return;
  group->cancelling_ = true;
  ++cancels_;
  drop_queued(lock, group, true);
}

std::string ClosureQueue::why_cancelled(const ClosureGroup& group) const {
  if (stopped_) return "the coordinator was shut down";
  if (!group.errors_.empty()) return "another one failed: " + text_of(group.errors_.first());
  return "the work was cancelled";
}

std::vector<ClosureQueue::Group> ClosureQueue::all_groups() const {
  std::vector<Group> all = {own_group_};
  for (const auto& each : groups_) {
    if (Group group = each.lock()) all.push_back(std::move(group));
  }
  return all;
}

std::deque<Closure> ClosureQueue::take_queued(ClosureGroup& group) {
  if (group.queued_ == queue_.size()) return std::exchange(queue_, {});
  const auto stays = [&](const Closure& closure) { return &group_of(closure) != &group; };
  const auto first = std::stable_partition(queue_.begin(), queue_.end(), stays);
  std::deque<Closure> taken(std::make_move_iterator(first), std::make_move_iterator(queue_.end()));
  queue_.erase(first, queue_.end());
  return taken;
}

void ClosureQueue::drop_queued(Lock& lock, const Group& group, bool interrupt) {
  std::deque<Closure> dropped = take_queued(*group);
  queued_ = queue_.size();
  for (const Closure& closure : dropped) deaths_.erase(closure.id);
  group->queued_ = 0;
  const std::string why = why_cancelled(*group);
  ++calls_;
  ++group->calls_;
  lock.unlock();
  for (Closure& closure : dropped) call_failed(closure, cancelled(why));
  if (interrupt && interrupt_) interrupt_();
  dropped.clear();
  lock.lock();
  if (interrupt) ++interrupts_;
  --calls_;
  --group->calls_;
  changed_.notify_all();
}

void ClosureQueue::note_interrupt() { ++interrupts_; }

bool ClosureQueue::interrupted_since(std::uint64_t interrupts) const {
  Lock lock(mutex_);
  return interrupts != interrupts_ || calls_ > 0;
}

// One worker at a time is on its way, and wakes the next when it has come and there is more: closures that are done
// sooner than a thread wakes are not worth waking all workers for.
void ClosureQueue::wake_worker() {
  if (idle_workers_ == 0 || worker_wakes_ || queue_.empty()) return;
  worker_wakes_ = true;
  work_.notify_one();
}

std::optional<Closure> ClosureQueue::get(std::chrono::milliseconds longest) {
  Lock lock(mutex_);
  const auto deadline = std::chrono::steady_clock::now() + longest;
  ++idle_workers_;
  for (bool in_time = true; in_time && !stopped_ && queue_.empty();) {
    in_time = work_.wait_until(lock, deadline) == std::cv_status::no_timeout;
    worker_wakes_ = false;
  }
  --idle_workers_;
  if (!may_get()) return std::nullopt;
  Closure closure = take();
  wake_worker();
  return closure;
}

bool ClosureQueue::stopped() const {
  Lock lock(mutex_);
  return stopped_;
}

std::optional<Closure> ClosureQueue::get_ahead(std::size_t under_way, std::size_t workers) {
  const std::size_t behind_others = under_way > 1 ? (under_way - 1) * workers : 0;
  if (queued_ <= behind_others) return std::nullopt;
  Lock lock(mutex_);
  // A suspect travels alone, so that the next death tells whether it was the one.
  if (!may_get() || queue_.front().attempts > 0) return std::nullopt;
  if (queue_.size() <= idle_workers_ + behind_others) return std::nullopt;
  return take();
}

Closure ClosureQueue::take() {
  Closure closure = std::move(queue_.front());
  queue_.pop_front();
  queued_ = queue_.size();
  under_way_.push_back(closure.id);
  closure.interrupts = interrupts_;
  closure.cancels = cancels_;
  closure.all_done_below = smallest_id();
  ClosureGroup& group = group_of(closure);
  --group.queued_;
  ++group.under_way_;
  ++moves_;
  if (waiting_for_room_ > 0) changed_.notify_all();
  return closure;
}

void ClosureQueue::put_back(Closure closure, const LostIncarnation& lost, const std::exception_ptr& why) {
  Lock lock(mutex_);
  ++closure.attempts;
  std::vector<LostIncarnation>& deaths = deaths_[closure.id];
  const bool known = std::any_of(deaths.begin(), deaths.end(),
                                 [&](const LostIncarnation& other) { return other.incarnation == lost.incarnation; });
  if (!known) deaths.push_back(lost);
  if (group_of(closure).cancelling_ || stopped_) {
    lock.unlock();
    mark_cancelled(closure);
  } else if (deaths.size() >= static_cast<std::size_t>(options_.max_attempts)) {
    const auto error = std::make_exception_ptr(too_many_attempts(closure, why));
    lock.unlock();
    mark_failed(closure, error);
  } else {
    insert(std::move(closure));
  }
}

bool ClosureQueue::on_last_attempt(const Closure& closure) const {
  Lock lock(mutex_);
  const auto deaths = deaths_.find(closure.id);
  const std::size_t before = deaths == deaths_.end() ? 0 : deaths->second.size();
  return before + 1 >= static_cast<std::size_t>(options_.max_attempts);
}

void ClosureQueue::is_alive(std::uint64_t incarnation) {
  Lock lock(mutex_);
  for (auto& [closure, deaths] : deaths_) {
    std::erase_if(deaths, [&](const LostIncarnation& lost) { return lost.incarnation == incarnation; });
  }
}

void ClosureQueue::put_back(Closure closure) {
  Lock lock(mutex_);
  if (!group_of(closure).cancelling_ && !stopped_) return insert(std::move(closure));
  lock.unlock();
  mark_cancelled(closure);
}

void ClosureQueue::insert(Closure closure) {
  // Older ones first, also when several workers die: so the front is the oldest that waits.
  const std::uint64_t id = closure.id;
  ClosureGroup& group = group_of(closure);
  ++group.queued_;
  --group.under_way_;
  const auto place = std::find_if(queue_.begin(), queue_.end(), [id](const Closure& other) { return other.id > id; });
  queue_.insert(place, std::move(closure));
  queued_ = queue_.size();
  std::erase(under_way_, id);
  wake_worker();
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
    group_of(closure).errors_.add(error);
    begin_cancelling(lock, known(closure.group));
  }
  end(closure);
}

void ClosureQueue::mark_failed(Closure& closure, const std::exception_ptr& error) {
  call_failed(closure, error);
  Lock lock(mutex_);
  group_of(closure).errors_.add(error);
  begin_cancelling(lock, known(closure.group));
  end(closure);
}

void ClosureQueue::mark_cancelled(Closure& closure) {
  Lock lock(mutex_);
  const std::string why = why_cancelled(group_of(closure));
  lock.unlock();
  call_failed(closure, cancelled(why));
  lock.lock();
  end(closure);
}

void ClosureQueue::fail(const std::exception_ptr& error) {
  Lock lock(mutex_);
  const std::vector<Group> all = all_groups();
  std::vector<Group> open;
  std::copy_if(all.begin(), all.end(), std::back_inserter(open), [](const Group& group) { return group->open(); });
  for (const Group& group : open.empty() ? all : open) {
    group->errors_.add(error);
    begin_cancelling(lock, group);
  }
  changed_.notify_all();
}

void ClosureQueue::end(const Closure& closure) {
  std::erase(under_way_, closure.id);
  deaths_.erase(closure.id);
  ClosureGroup& group = group_of(closure);
  --group.under_way_;
  ++moves_;
  // Whoever waits for the group is not woken for each closure of it.
  if (!group.open()) changed_.notify_all();
}

Error ClosureQueue::too_many_attempts(const Closure& closure, const std::exception_ptr& why) const {
  const auto task = [](const LostIncarnation& lost) { return lost.task; };
  return Error(
      ErrorCode::Aborted, "ClusterCoordinator", "a function must not end the workers it runs on; this one was given up",
      {{"closure", closure.id}, {"died with it", join(deaths_.at(closure.id), task)}, {"last error", text_of(why)}},
      "See those workers' own output for what ended them.");
}

bool ClosureQueue::cancelling(const Closure& closure) const {
  Lock lock(mutex_);
  return group_of(closure).cancelling_ || stopped_;
}

bool ClosureQueue::awaits_cancelled() const {
  Lock lock(mutex_);
  const auto waits = [](const Group& group) { return group->cancelling_ && group->under_way_ > 0; };
  const std::vector<Group> all = all_groups();
  return stopped_ || std::any_of(all.begin(), all.end(), waits);
}

bool ClosureQueue::busy() const {
  Lock lock(mutex_);
  return !queue_.empty() || !under_way_.empty() || calls_ > 0;
}

std::uint64_t ClosureQueue::all_done_below() const {
  Lock lock(mutex_);
  return smallest_id();
}

std::uint64_t ClosureQueue::smallest_id() const {
  std::uint64_t smallest = queue_.empty() ? next_id_ : queue_.front().id;
  for (const std::uint64_t id : under_way_) smallest = std::min(smallest, id);
  return smallest;
}

}  // namespace cohort::distribute
