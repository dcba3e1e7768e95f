#include "cohort/distribute/rpc/stream_deadlines.h"

namespace cohort::distribute::rpc {

StreamDeadlines::StreamDeadlines() : thread_([this] { wait(); }) {}

StreamDeadlines::~StreamDeadlines() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

StreamDeadlines::Watch StreamDeadlines::watch(Clock::time_point deadline, std::shared_ptr<Stream> stream) {
  Watch watch;
  bool first = false;
  {
    std::lock_guard lock(mutex_);
    watch = {deadline, ++numbers_};
    const auto added = watched_.emplace(watch, std::move(stream)).first;
    first = added == watched_.begin();
  }
  if (first) changed_.notify_all();
  return watch;
}

bool StreamDeadlines::forget(const Watch& watch) {
  std::lock_guard lock(mutex_);
  return watched_.erase(watch) > 0;
}

void StreamDeadlines::wait() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (watched_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto first = watched_.begin();
    const Clock::time_point until = first->first.first;
    if (Clock::now() < until) {
      changed_.wait_until(lock, until);
      continue;
    }
    first->second->cancel();
    watched_.erase(first);
  }
}

}  // namespace cohort::distribute::rpc
