#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "cohort/core/thread_scope.h"

namespace cohort {

// What a thread did when: named spans of time, one inside the other. Filled by the thread that has a TimelineScope.
class Timeline {
 public:
  // The clock that times spans.
  using Clock = std::chrono::steady_clock;
  // One stretch of time.
  struct Span {
    // "step", "data", "compute", "callback", "file", ...
    std::string category;
    // What was done.
    std::string name;
    // From when to when.
    Clock::time_point begin, end;
    std::int64_t number = -1;  // of the step or batch it belongs to; -1: none
    std::uint64_t flow = 0;    // work that goes from one thread or process to others has the same one there; 0: none
  };

  // The spans, in the order in which they ended.
  const std::vector<Span>& spans() const { return spans_; }
  // Spans left out because there were too many.
  std::int64_t dropped() const { return dropped_; }
  // Adds a span, or counts it as dropped.
  void add(Span span);
  // Counts spans that were left out before they came here.
  void drop(std::int64_t spans) { dropped_ += spans; }
  // The one this thread writes to; nullptr: none.
  static Timeline* current();

 private:
  std::vector<Span> spans_;
  std::int64_t dropped_ = 0;
};

// What another thread, or another process, did meanwhile.
struct TimelineTrack {
  // Whose it is; empty: of this process.
  std::string process = {};
  // Which of its threads.
  std::string thread = {};
  // Its spans, timed by this process's clock.
  Timeline timeline = {};
};

// Lets this thread write to a timeline while it lives. Ended on the thread that made it.
class TimelineScope : public ThreadScope<Timeline, Timeline*> {
 public:
  // Begins the scope.
  explicit TimelineScope(Timeline& timeline) : ThreadScope(&timeline) {}
};

// One span, from here to the end of the block. Without a timeline it costs one load of a thread-local pointer.
class TimelineSpan {
 public:
  // Begins the span.
  TimelineSpan(const char* category, const char* name, std::int64_t number = -1, std::uint64_t flow = 0)
      : timeline_(Timeline::current()) {
    if (timeline_) begin(category, name, number, flow);
  }
  TimelineSpan(const char* category, const std::string& name, std::int64_t number = -1)
      : TimelineSpan(category, name.c_str(), number) {}
  ~TimelineSpan() {
    if (timeline_) end();
  }
  TimelineSpan(const TimelineSpan&) = delete;

 private:
  void begin(const char* category, const char* name, std::int64_t number, std::uint64_t flow);
  void end();

  Timeline* timeline_;
  const char* category_ = nullptr;
  std::string name_;
  Timeline::Clock::time_point begin_;
  std::int64_t number_ = -1;
  std::uint64_t flow_ = 0;
};

}  // namespace cohort
