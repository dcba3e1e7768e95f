#include "cohort/distribute/coordinator/stuck_watch.h"

#include <algorithm>
#include <string>
#include <utility>

#include "cohort/core/log.h"

namespace cohort::distribute {
namespace {

std::string whole_seconds(std::chrono::steady_clock::duration time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " s";
}

}  // namespace

StuckWatch::StuckWatch(std::vector<std::shared_ptr<WorkerLink>> links, const ClosureQueue& queue,
                       StuckWatchOptions options)
    : queue_(queue),
      options_(options),
      stragglers_(task_names_of(links), options.stragglers),
      links_(std::move(links)),
      thread_([this] { run(); }) {}

StuckWatch::~StuckWatch() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  thread_.join();
}

void StuckWatch::add(std::shared_ptr<WorkerLink> link) {
  std::lock_guard lock(mutex_);
  links_.push_back(std::move(link));
}

void StuckWatch::run() {
  std::vector<std::shared_ptr<WorkerLink>> links;
  std::vector<Seen> seen;
  std::unique_lock lock(mutex_);
  while (!stop_.wait_for(lock, options_.pause, [this] { return stopping_; })) {
    links = links_;
    lock.unlock();
    for (std::size_t i = seen.size(); i < links.size(); ++i) seen.emplace_back();
    for (std::size_t i = 0; i < links.size(); ++i) look_at(*links[i], seen[i]);
    look_for_stragglers(links);
    lock.lock();
  }
}

void StuckWatch::look_for_stragglers(const std::vector<std::shared_ptr<WorkerLink>>& links) {
  for (std::size_t i = stragglers_.size(); i < links.size(); ++i) stragglers_.add(links[i]->task());
  std::vector<StepTimes> times;
  for (const auto& link : links) times.push_back(link->step_times());
  for (const std::string& line : stragglers_.look(times, Clock::now())) log::warn(line);
}

void StuckWatch::look_at(WorkerLink& link, Seen& seen) const {
  const Clock::time_point now = Clock::now();
  const std::optional<std::uint64_t> movement = link.movement();
  if (!movement || movement != seen.movement) {
    if (movement && seen.named) log::info(link.task() + " gets on again");
    seen = {.movement = movement, .since = now};
    return;
  }
  const Clock::duration still = now - seen.since;
  auto limit = options_.stuck_after;
  if (queue_.awaits_cancelled()) limit = std::min(limit, options_.stuck_in_cancel_after);
  if (still >= limit) {
    link.abandon(link.task() + " is alive and has not begun a step for " + whole_seconds(still) +
                 "; it counts as lost");
    seen = {.movement = movement, .since = now};
  } else if (still >= options_.named_after && !seen.named) {
    log::warn(link.task() + " is alive and has not begun a step for " + whole_seconds(still) + "; after " +
              whole_seconds(limit) + " its work is given to others");
    seen.named = true;
  }
}

}  // namespace cohort::distribute
