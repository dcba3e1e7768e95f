#include "cohort/distribute/coordinator/worker_loop.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "cohort/core/log.h"

namespace cohort::distribute {
namespace {

// How soon the loss of a worker without work is noticed.
constexpr std::chrono::milliseconds kBetweenLooks{1000};

bool is_lost_worker(const std::exception_ptr& error) {
  return code_of(error) == ErrorCode::Unavailable && !is_lost_parameter_server(error);
}

}  // namespace

void cancel_quietly(WorkerLink& link) {
  try {
    link.cancel();
  } catch (const std::exception& error) {
    log::debug(link.task() + " could not be told to cancel: " + error.what());
  }
}

void WorkerLoop::run() {
  for (;;) {
    if (under_way_.empty()) {
      if (!link_.wanted() && !queue_.stopped()) {
        worker_lost(has_left());
        continue;
      }
      std::optional<Closure> closure = queue_.get(kBetweenLooks);
      if (closure) {
        begin(std::move(*closure));
      } else if (queue_.stopped()) {
        return;
      } else if (!link_.alive()) {
        worker_lost(went_idle());
      }
    }
    if (link_.wanted()) fill();
    if (!under_way_.empty()) finish_oldest();
  }
}

std::exception_ptr WorkerLoop::went_idle() const {
  return std::make_exception_ptr(Error(ErrorCode::Unavailable, link_.task() + ": it went while it had nothing to do"));
}

std::exception_ptr WorkerLoop::has_left() const {
  return std::make_exception_ptr(Error(ErrorCode::Unavailable, link_.task() + ": it has left the cluster"));
}

void WorkerLoop::fill() {
  while (!under_way_.empty() && under_way_.size() < options_.in_flight && under_way_.back().attempts == 0) {
    std::optional<Closure> closure = queue_.get_ahead(under_way_.size(), watch_.reachable());
    if (!closure) return;
    begin(std::move(*closure));
  }
}

void WorkerLoop::begin(Closure closure) {
  if (queue_.cancelled_since_taken(closure)) return queue_.mark_cancelled(closure);
  if (under_way_.empty() && (!link_.wanted() || !link_.alive())) {
    queue_.put_back(std::move(closure));
    return worker_lost(link_.wanted() ? went_idle() : has_left());
  }
  try {
    pipelines_.lease(closure, worker_);
  } catch (...) {
    return data_ended(closure, std::current_exception());
  }
  under_way_.push_back(std::move(closure));
  try {
    link_.start(under_way_.back());
  } catch (...) {
    const std::exception_ptr error = std::current_exception();
    if (is_lost_worker(error)) return worker_lost(error);
    Closure refused = std::move(under_way_.back());
    under_way_.pop_back();
    return queue_.mark_failed(refused, error);
  }
  // A cancel that came before the start has passed this closure by.
  if (queue_.cancelled_since_taken(under_way_.back())) {
    queue_.note_interrupt();
    cancel_quietly(link_);
  }
}

void WorkerLoop::finish_oldest() {
  ClosureResult result;
  try {
    result = link_.finish(under_way_.front());
  } catch (...) {
    return fail_oldest(std::current_exception());
  }
  Closure closure = std::move(under_way_.front());
  under_way_.pop_front();
  if (pipelines_.returned(closure, worker_, result)) {
    queue_.renew_id(closure);
    return begin(std::move(closure));
  }
  if (result.data_ended && result.steps == 0 && closure.steps > 0) {
    return data_ended(closure, std::make_exception_ptr(Error(ErrorCode::OutOfRange, "ClusterCoordinator",
                                                             "a dataset of the function has no elements left",
                                                             {{"closure", closure.id}, {"worker", link_.task()}})));
  }
  queue_.mark_finished(closure, result);
}

void WorkerLoop::fail_oldest(const std::exception_ptr& error) {
  const bool ended = code_of(error) == ErrorCode::Cancelled;
  const bool cancelled = ended && queue_.cancelling(under_way_.front());
  // For the sake of another group; it is taken up again: steps that a ps has applied are repeats.
  const bool interrupted = ended && !cancelled && queue_.interrupted_since(under_way_.front().interrupts);
  // One that cancels by itself takes this way to it for closed, and what it had for others' work.
  if (is_lost_worker(error) || (ended && !cancelled && !interrupted)) return worker_lost(error);
  Closure closure = std::move(under_way_.front());
  under_way_.pop_front();
  if (cancelled) return queue_.mark_cancelled(closure);
  if (interrupted) return queue_.put_back(std::move(closure));
  queue_.mark_failed(closure, error);
}

void WorkerLoop::data_ended(Closure& closure, const std::exception_ptr& error) {
  if (!closure.may_end || code_of(error) != ErrorCode::OutOfRange) return queue_.mark_failed(closure, error);
  ClosureResult nothing{.data_ended = true};
  queue_.mark_finished(closure, nothing);
}

// All that was in flight goes to others. What only broke the way to a worker is no fault of a closure, so one that
// would be given up is returned: the first attempt to reconnect tells.
std::optional<Closure> WorkerLoop::put_back_all(const LostIncarnation& lost, const std::exception_ptr& why) {
  std::optional<Closure> accused;
  const bool began = link_.began();
  for (bool oldest = true; !under_way_.empty(); oldest = false) {
    Closure closure = std::move(under_way_.front());
    under_way_.pop_front();
    if (oldest && began && queue_.on_last_attempt(closure)) {
      accused = std::move(closure);
    } else if (oldest && began) {
      queue_.put_back(std::move(closure), lost, why);
    } else {
      // Perhaps it was the one after all: next time it is known.
      if (oldest) ++closure.attempts;
      queue_.put_back(std::move(closure));
    }
  }
  return accused;
}

bool WorkerLoop::is_same(const LostIncarnation& lost) const {
  return lost.incarnation != 0 && link_.incarnation() == lost.incarnation;
}

bool WorkerLoop::try_to_reconnect() {
  try {
    return link_.reconnect();
  } catch (const std::exception& error) {
    watch_.lost(worker_, error.what());
    // It follows another chief now, and will not come back to this one.
    const bool follows_another = code_of(std::current_exception()) == ErrorCode::Aborted;
    const bool no_work_for_anybody = is_lost_parameter_server(std::current_exception()) && queue_.busy();
    if (follows_another || no_work_for_anybody) queue_.fail(std::current_exception());
  }
  return false;
}

void WorkerLoop::worker_lost(const std::exception_ptr& why) {
  const std::string exit_reason = exits_.reason();
  const std::string reason = text_of(why) + (exit_reason.empty() ? "" : "; " + exit_reason);
  const LostIncarnation lost{link_.task() + (exit_reason.empty() ? "" : " (" + exit_reason + ")"), link_.incarnation()};
  watch_.lost(worker_, reason);
  pipelines_.forget(worker_);
  log::warn(link_.task() + " is gone, " + std::to_string(under_way_.size()) + " closure(s) go to others: " + reason);
  const bool was_idle = under_way_.empty();
  std::optional<Closure> accused = put_back_all(lost, why);
  bool back = was_idle && try_to_reconnect();
  for (auto backoff = options_.first_backoff; !back && watch_.sleep(backoff);
       backoff = std::min(backoff * 2, options_.last_backoff)) {
    back = try_to_reconnect();
    if (accused && is_same(lost)) {
      queue_.put_back(std::move(*accused));
    } else if (accused) {
      queue_.put_back(std::move(*accused), lost, why);
    }
    accused.reset();
    if (back || !queue_.busy()) continue;
    if (const std::optional<Error> error = watch_.timed_out()) queue_.fail(std::make_exception_ptr(*error));
  }
  if (accused) queue_.put_back(std::move(*accused));
  if (!back) return;
  if (is_same(lost)) queue_.is_alive(lost.incarnation);
  watch_.back(worker_);
  log::info(link_.task() + " is back");
}

}  // namespace cohort::distribute
