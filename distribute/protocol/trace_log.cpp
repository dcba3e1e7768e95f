#include "cohort/distribute/protocol/trace_log.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/distribute/protocol/messages.pb.h"

namespace cohort::distribute {
namespace {

constexpr std::size_t kMostSpans = 200'000, kMostNames = 10'000, kLongestName = 200, kMostThreads = 10'000;

std::uint64_t clock_number(Timeline::Clock::time_point time) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(time.time_since_epoch()).count());
}

Error not_a_trace(const std::string& task, const char* expected, const Received& received) {
  return Error(ErrorCode::DataLoss, task, expected, {received});
}

const std::string& name_at(const proto::TraceResultProto& from, std::uint32_t index, const std::string& task) {
  if (index >= static_cast<std::uint32_t>(from.names_size())) {
    throw not_a_trace(task, "a span must have a name that is there", {"name", index});
  }
  return from.names(static_cast<int>(index));
}

void check_sizes(const proto::TraceResultProto& from, const std::string& task) {
  if (static_cast<std::size_t>(from.spans_size()) > kMostSpans) {
    throw not_a_trace(task, "a trace has at most 200,000 spans", {"spans", from.spans_size()});
  }
  if (static_cast<std::size_t>(from.names_size()) > kMostNames) {
    throw not_a_trace(task, "a trace has at most 10,000 names", {"names", from.names_size()});
  }
  if (static_cast<std::size_t>(from.threads_size()) > kMostThreads) {
    throw not_a_trace(task, "a trace has at most 10,000 threads", {"threads", from.threads_size()});
  }
  for (const auto* names : {&from.names(), &from.threads()}) {
    for (const std::string& name : *names) {
      if (name.size() > kLongestName) throw not_a_trace(task, "a name has at most 200 bytes", {"bytes", name.size()});
    }
  }
}

}  // namespace

void TraceLog::begin() {
  std::lock_guard lock(mutex_);
  tracks_.clear();
  lanes_.clear();
  spans_ = 0;
  recording_ = true;
}

std::vector<TimelineTrack> TraceLog::end(const std::string& process) {
  std::lock_guard lock(mutex_);
  recording_ = false;
  std::vector<TimelineTrack> tracks;
  for (auto& [id, track] : tracks_) {
    if (track.thread.empty()) track.thread = "thread " + std::to_string(tracks.size());
    track.process = process;
    tracks.push_back(std::move(track));
  }
  for (auto& [name, lane] : lanes_) {
    lane.thread = name;
    lane.process = process;
    tracks.push_back(std::move(lane));
  }
  tracks_.clear();
  lanes_.clear();
  return tracks;
}

void TraceLog::add(const Timeline& timeline, const std::string& thread_name) {
  std::lock_guard lock(mutex_);
  // One that was begun in an earlier recording, or outlasts its own.
  if (!recording_ || tracks_.size() >= kMostThreads) return;
  TimelineTrack& track = tracks_[std::this_thread::get_id()];
  if (track.thread.empty()) track.thread = thread_name;
  add_spans(timeline, track);
  for (const TimelineTrack& lane : timeline.lanes()) add_spans(lane.timeline, lanes_[lane.thread]);
}

void TraceLog::add_spans(const Timeline& timeline, TimelineTrack& track) {
  for (const Timeline::Span& span : timeline.spans()) {
    if (spans_ < kMostSpans) {
      track.timeline.add(span);
      ++spans_;
    } else {
      track.timeline.drop(1);
    }
  }
  track.timeline.drop(timeline.dropped());
}

void TraceRecording::begin() { recorded_ = std::make_unique<Recorded>(); }

void TraceRecording::end() {
  recorded_->scope.end();
  log_.add(recorded_->timeline, thread_name_);
}

void write_trace(const std::vector<TimelineTrack>& tracks, proto::TraceResultProto& to) {
  std::map<std::string, std::uint32_t> numbers;
  const auto number_of = [&](const std::string& name) {
    const auto [entry, is_new] = numbers.emplace(name.substr(0, kLongestName), to.names_size());
    if (is_new) to.add_names(entry->first);
    return entry->second;
  };
  std::uint64_t dropped = 0;
  for (std::uint32_t thread = 0; thread < tracks.size(); ++thread) {
    to.add_threads(tracks[thread].thread.substr(0, kLongestName));
    dropped += static_cast<std::uint64_t>(tracks[thread].timeline.dropped());
    for (const Timeline::Span& span : tracks[thread].timeline.spans()) {
      if (numbers.size() + 2 > kMostNames) {
        ++dropped;
        continue;
      }
      proto::SpanProto& entry = *to.add_spans();
      entry.set_category(number_of(span.category));
      entry.set_name(number_of(span.name));
      entry.set_begin(clock_number(span.begin));
      entry.set_duration(clock_number(span.end) - clock_number(span.begin));
      entry.set_number(span.number);
      entry.set_flow(span.flow);
      entry.set_thread(thread);
    }
  }
  to.set_dropped(dropped);
}

std::vector<TimelineTrack> read_trace(const proto::TraceResultProto& from, const TraceOrigin& origin) {
  check_sizes(from, origin.task);
  std::vector<TimelineTrack> tracks;
  std::int64_t dropped = static_cast<std::int64_t>(std::min<std::uint64_t>(from.dropped(), 1'000'000'000));
  const std::uint64_t first = clock_number(origin.begin);
  const std::uint64_t window = clock_number(origin.end) - first;
  for (const proto::SpanProto& entry : from.spans()) {
    if (entry.thread() >= kMostThreads) {
      throw not_a_trace(origin.task, "a trace has at most 10,000 threads", {"thread", entry.thread()});
    }
    const std::string &category = name_at(from, entry.category(), origin.task),
                      &name = name_at(from, entry.name(), origin.task);
    // Modulo 2^64, so that a time from before the recording is one from long after it.
    const std::uint64_t begin = entry.begin() - static_cast<std::uint64_t>(origin.clock_offset.count()) - first;
    if (begin > window || entry.duration() > window) {
      ++dropped;
      continue;
    }
    if (tracks.size() <= entry.thread()) tracks.resize(entry.thread() + std::size_t{1});
    const Timeline::Clock::time_point at = origin.begin + std::chrono::nanoseconds(static_cast<std::int64_t>(begin));
    tracks[entry.thread()].timeline.add(
        {.category = category,
         .name = name,
         .begin = at,
         .end = at + std::chrono::nanoseconds(static_cast<std::int64_t>(entry.duration())),
         .number = entry.number(),
         .flow = entry.flow()});
  }
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    tracks[i].process = origin.task;
    const bool has_name =
        i < static_cast<std::size_t>(from.threads_size()) && !from.threads(static_cast<int>(i)).empty();
    tracks[i].thread = has_name ? from.threads(static_cast<int>(i)) : "thread " + std::to_string(i);
  }
  std::erase_if(tracks, [](const TimelineTrack& track) { return track.timeline.spans().empty(); });
  if (!tracks.empty()) tracks.front().timeline.drop(dropped);
  return tracks;
}

}  // namespace cohort::distribute
