#include "cohort/core/timeline.h"

#include <utility>

namespace cohort {
namespace {

thread_local Timeline* timeline_of_thread = nullptr;

}  // namespace

void Timeline::add(Span span) {
  constexpr std::size_t kMostSpans = 1'000'000;
  if (spans_.size() < kMostSpans) {
    spans_.push_back(std::move(span));
  } else {
    ++dropped_;
  }
}

Timeline* Timeline::current() { return timeline_of_thread; }

TimelineScope::TimelineScope(Timeline& timeline) : before_(std::exchange(timeline_of_thread, &timeline)) {}
TimelineScope::~TimelineScope() { timeline_of_thread = before_; }

void TimelineSpan::begin(const char* category, const char* name, std::int64_t number) {
  category_ = category;
  name_ = name;
  number_ = number;
  begin_ = Timeline::Clock::now();
}

void TimelineSpan::end() {
  // A recording that ended meanwhile is over: what it would hold may be gone.
  if (timeline_ != timeline_of_thread) return;
  timeline_->add({category_, std::move(name_), begin_, Timeline::Clock::now(), number_});
}

}  // namespace cohort
