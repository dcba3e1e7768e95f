#include "cohort/core/timeline.h"

#include <utility>

namespace cohort {

void Timeline::add(Span span) {
  constexpr std::size_t kMostSpans = 1'000'000;
  if (spans_.size() < kMostSpans) {
    spans_.push_back(std::move(span));
  } else {
    ++dropped_;
  }
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
  timeline_->add({category_, std::move(name_), begin_, Timeline::Clock::now(), number_, flow_});
}

}  // namespace cohort
