#include "cohort/core/timeline.h"

#include <utility>

namespace cohort {
namespace {

constexpr std::size_t kMostTimelineEntries = 1'000'000;

}  // namespace

void Timeline::add(Span span) {
  if (spans_.size() < kMostTimelineEntries) {
    spans_.push_back(std::move(span));
  } else {
    ++dropped_;
  }
}

void Timeline::add(Count count) {
  if (counts_.size() < kMostTimelineEntries) {
    counts_.push_back(std::move(count));
  } else {
    ++dropped_;
  }
}

std::shared_ptr<TimelineLane> Timeline::lane(const std::string& name, const std::function<void()>& settle) {
  for (const auto& lane : lanes_) {
    if (lane->name() == name) return lane;
  }
  return lanes_.emplace_back(std::make_shared<TimelineLane>(name, settle));
}

std::vector<TimelineTrack> Timeline::lanes() const {
  std::vector<TimelineTrack> tracks;
  for (const auto& lane : lanes_) tracks.push_back(lane->track());
  return tracks;
}

void Timeline::settle() noexcept {
  for (const auto& lane : lanes_) lane->settle();
}

TimelineLane::TimelineLane(const std::string& name, std::function<void()> settle)
    : settle_(std::move(settle)), track_{.thread = name} {}

void TimelineLane::add(Timeline::Span span) {
  std::lock_guard lock(mutex_);
  track_.timeline.add(std::move(span));
}

void TimelineLane::add(Timeline::Count count) {
  std::lock_guard lock(mutex_);
  track_.timeline.add(std::move(count));
}

void TimelineLane::drop(std::int64_t spans) {
  std::lock_guard lock(mutex_);
  track_.timeline.drop(spans);
}

TimelineTrack TimelineLane::track() const {
  std::lock_guard lock(mutex_);
  return track_;
}

void TimelineScope::end() {
  ThreadScope::end();  // first: what a device does to come to rest is no part of it
  if (timeline_) std::exchange(timeline_, nullptr)->settle();
}

Timeline* Timeline::current() { return TimelineScope::current(); }

void TimelineSpan::begin(const char* category, const char* name, std::int64_t number, std::uint64_t flow) {
  category_ = category;
  name_ = name;
  number_ = number;
  flow_ = flow;
  begin_ = Timeline::Clock::now();
}

void TimelineSpan::end() {
  // A recording that ended meanwhile is over: what it would hold may be gone.
  if (timeline_ != Timeline::current()) return;
  timeline_->add(Timeline::Span{category_, std::move(name_), begin_, Timeline::Clock::now(), number_, flow_});
}

}  // namespace cohort
