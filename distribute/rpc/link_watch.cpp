#include "cohort/distribute/rpc/link_watch.h"

#include <algorithm>

#include "cohort/distribute/rpc/grpc_link.h"

namespace cohort::distribute::rpc {
namespace {

constexpr std::chrono::milliseconds kShortestPause{20}, kPausePerLink{1}, kOwnDelay{50};

}  // namespace

std::shared_ptr<LinkWatch> LinkWatch::shared() {
  // Never destroyed: links in static storage may outlive anything static.
  static auto* mutex = new std::mutex;
  static auto* known = new std::weak_ptr<LinkWatch>;
  std::lock_guard lock(*mutex);
  std::shared_ptr<LinkWatch> watch = known->lock();
  if (!watch) *known = watch = std::make_shared<LinkWatch>();
  return watch;
}

LinkWatch::LinkWatch() : thread_([this] { run(); }) {}

LinkWatch::~LinkWatch() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  thread_.join();
}

void LinkWatch::add(GrpcLink* link) {
  std::lock_guard lock(mutex_);
  links_.push_back(link);
}

void LinkWatch::remove(GrpcLink* link) {
  std::lock_guard lock(mutex_);
  std::erase(links_, link);
}

LinkWatch::Clock::duration LinkWatch::pause() const {
  return std::clamp<Clock::duration>(static_cast<int>(links_.size()) * kPausePerLink, kShortestPause, kLongestPause);
}

// Sleeps outside gRPC: whoever waits there gets the events of all streams of the process first and would have to pass
// them on.
void LinkWatch::run() {
  std::unique_lock lock(mutex_);
  Clock::time_point last = Clock::now();
  while (true) {
    const Clock::duration planned = pause();
    if (stop_.wait_for(lock, planned, [this] { return stopping_; })) return;
    const Clock::time_point now = Clock::now();
    // A process that was stopped, or had no core to run on, could hear nobody: that is not the others' silence.
    const Clock::duration late = now - last - planned;
    for (GrpcLink* link : links_) link->look(late > kOwnDelay ? late : Clock::duration{});
    last = now;
  }
}

}  // namespace cohort::distribute::rpc
