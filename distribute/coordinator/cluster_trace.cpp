#include "cohort/distribute/coordinator/cluster_trace.h"

#include <chrono>
#include <utility>

#include "cohort/core/log.h"
#include "cohort/distribute/coordinator/status_calls.h"
#include "cohort/distribute/protocol/typed_call.h"

namespace cohort::distribute {
namespace {

constexpr std::chrono::milliseconds kLongestBegin{1000}, kLongestEnd{5000};
constexpr int kRoundTrips = 8;

// From the shortest of some round trips: half of it is what the answer may be wrong by.
std::chrono::nanoseconds clock_offset_of(rpc::Stream& stream, const rpc::Peer& peer) {
  TaskStatus best = ask_status(stream, peer);
  for (int i = 1; i < kRoundTrips; ++i) {
    const TaskStatus other = ask_status(stream, peer);
    if (other.round_trip < best.round_trip) best = other;
  }
  return best.clock_offset;
}

}  // namespace

ClusterTrace::ClusterTrace(std::vector<rpc::Peer> tasks, rpc::TransportOptions options, std::uint64_t job,
                           TraceLog& log)
    : options_(std::move(options)),
      job_(job),
      log_(log),
      calls_(std::make_unique<BoundedCalls>(std::move(tasks), options_)) {}

void ClusterTrace::set_tasks(std::vector<rpc::Peer> tasks) {
  std::lock_guard lock(mutex_);
  calls_ = std::make_unique<BoundedCalls>(std::move(tasks), options_);
}

void ClusterTrace::begin() {
  std::lock_guard lock(mutex_);
  begin_ = Timeline::Clock::now();
  calls_->run(kLongestBegin, [this](std::size_t, rpc::Stream& stream) {
    proto::TraceProto begins;
    begins.set_begin(true);
    call<Method::Trace>(stream, {.job = job_}, begins);
  });
  // Last, as it ends first: of what the chief's trace shows the tasks' show all.
  log_.begin();
}

std::vector<TimelineTrack> ClusterTrace::end() {
  std::lock_guard lock(mutex_);
  std::vector<TimelineTrack> all = log_.end("");
  const Timeline::Clock::time_point end = Timeline::Clock::now();
  std::vector<std::vector<TimelineTrack>> by_task(calls_->tasks().size());
  const std::vector<std::string> problems = calls_->run(kLongestEnd, [&](std::size_t index, rpc::Stream& stream) {
    const rpc::Peer& peer = calls_->tasks()[index];
    const auto reply = call<Method::Trace>(stream, {.job = job_});
    by_task[index] = read_trace(
        reply.metadata,
        {.task = peer.task, .clock_offset = clock_offset_of(stream, peer), .begin = begin_, .end = end + kLongestEnd});
  });
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (!problems[i].empty()) log::warn("The trace lacks " + calls_->tasks()[i].task + ": " + problems[i]);
    for (TimelineTrack& track : by_task[i]) all.push_back(std::move(track));
  }
  return all;
}

}  // namespace cohort::distribute
