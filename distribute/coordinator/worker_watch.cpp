#include "cohort/distribute/coordinator/worker_watch.h"

#include <utility>

namespace cohort::distribute {

WorkerWatch::WorkerWatch(std::vector<std::string> tasks, std::chrono::milliseconds timeout)
    : timeout_(timeout), tasks_(std::move(tasks)), why_(tasks_.size()), reachable_(tasks_.size()) {}

void WorkerWatch::add(const std::string& task) {
  std::lock_guard lock(mutex_);
  tasks_.push_back(task);
  why_.emplace_back();
  ++reachable_;
}

void WorkerWatch::lost(int worker, const std::string& why) {
  std::lock_guard lock(mutex_);
  std::string& reason = why_[static_cast<std::size_t>(worker)];
  const bool new_loss = reason.empty();
  reason = why.empty() ? "no reason given" : why;
  if (new_loss && --reachable_ == 0) none_since_ = timeout_since_ = Clock::now();
}

void WorkerWatch::back(int worker) {
  std::lock_guard lock(mutex_);
  std::string& reason = why_[static_cast<std::size_t>(worker)];
  if (!reason.empty()) ++reachable_;
  reason.clear();
}

std::size_t WorkerWatch::reachable() const {
  std::lock_guard lock(mutex_);
  return reachable_;
}

std::optional<Error> WorkerWatch::timed_out() {
  std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  if (stopped_ || reachable_ > 0 || now - timeout_since_ < timeout_) return std::nullopt;
  timeout_since_ = now;
  std::string gone;
  for (std::size_t i = 0; i < tasks_.size(); ++i) gone += (i == 0 ? "" : "; ") + tasks_[i] + " (" + why_[i] + ")";
  const auto seconds = std::chrono::duration_cast<std::chrono::duration<double>>(now - none_since_).count();
  return Error(ErrorCode::Unavailable, "ClusterCoordinator", "at least one worker must be reachable",
               {{"gone", gone}, {"seconds without any", seconds}}, "Start the workers again at their addresses.");
}

bool WorkerWatch::sleep(std::chrono::milliseconds duration) {
  std::unique_lock lock(mutex_);
  return !stopping_.wait_for(lock, duration, [this] { return stopped_; });
}

void WorkerWatch::stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
  stopping_.notify_all();
}

}  // namespace cohort::distribute
