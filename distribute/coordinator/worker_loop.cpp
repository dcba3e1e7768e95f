#include "cohort/distribute/coordinator/worker_loop.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "cohort/core/log.h"

namespace cohort::distribute {
namespace {

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
      std::optional<Closure> closure = queue_.get();
      if (!closure) return;
      begin(std::move(*closure));
    }
    fill();
    if (!under_way_.empty()) finish_oldest();
  }
}

void WorkerLoop::fill() {
  while (!under_way_.empty() && under_way_.size() < options_.in_flight && under_way_.back().attempts == 0) {
    std::optional<Closure> closure = queue_.get_ahead(under_way_.size(), watch_.reachable());
    if (!closure) return;
    begin(std::move(*closure));
  }
}

void WorkerLoop::begin(Closure closure) {
  if (queue_.cancelling()) return queue_.mark_cancelled(closure);
  const std::uint64_t all_done_below = queue_.all_done_below();
  try {
    pipelines_.lease(closure, worker_, all_done_below);
  } catch (...) {
    return data_ended(closure, std::current_exception());
  }
  under_way_.push_back(std::move(closure));
  try {
    link_.start(under_way_.back(), all_done_below);
  } catch (...) {
    const std::exception_ptr error = std::current_exception();
    Closure refused = std::move(under_way_.back());
    under_way_.pop_back();
    if (!is_lost_worker(error)) return queue_.mark_failed(refused, error);
    queue_.put_back(std::move(refused));
    return worker_lost(error);
  }
  // A cancel that came before the start has passed this closure by.
  if (queue_.cancelling()) cancel_quietly(link_);
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
  if (is_lost_worker(error)) return worker_lost(error);
  Closure closure = std::move(under_way_.front());
  under_way_.pop_front();
  if (code_of(error) == ErrorCode::Cancelled && queue_.cancelling()) return queue_.mark_cancelled(closure);
  queue_.mark_failed(closure, error);
}

void WorkerLoop::data_ended(Closure& closure, const std::exception_ptr& error) {
  if (!closure.may_end || code_of(error) != ErrorCode::OutOfRange) return queue_.mark_failed(closure, error);
  ClosureResult nothing{.data_ended = true};
  queue_.mark_finished(closure, nothing);
}

void WorkerLoop::worker_lost(const std::exception_ptr& why) {
  const std::string reason = text_of(why);
  watch_.lost(worker_, reason);
  pipelines_.forget(worker_);
  log::warn(link_.task() + " is gone, " + std::to_string(under_way_.size()) + " closure(s) go to others: " + reason);
  std::vector<Closure> back(std::make_move_iterator(under_way_.begin()), std::make_move_iterator(under_way_.end()));
  under_way_.clear();
  queue_.put_back(std::move(back), link_.task(), why);
  for (auto backoff = options_.first_backoff; watch_.sleep(backoff);
       backoff = std::min(backoff * 2, options_.last_backoff)) {
    try {
      if (link_.reconnect()) {
        watch_.back(worker_);
        log::info(link_.task() + " is back");
        return;
      }
    } catch (const std::exception& error) {
      watch_.lost(worker_, error.what());
      // It follows another chief now, and will not come back to this one.
      if (code_of(std::current_exception()) == ErrorCode::Aborted) queue_.fail(std::current_exception());
    }
    if (!queue_.busy()) continue;
    if (const std::optional<Error> error = watch_.timed_out()) queue_.fail(std::make_exception_ptr(*error));
  }
}

}  // namespace cohort::distribute
