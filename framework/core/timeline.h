#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cohort/core/dtype.h"
#include "cohort/core/thread_scope.h"

namespace cohort {

class TimelineLane;
struct TimelineTrack;

// What a kernel or a copy had to do, as far as types and shapes tell.
struct KernelWork {
  // Name of the op.
  std::string op = {};
  // "float32(64, 10), float32(10, 10) -> float32(64, 10)": of inputs and outputs, the first of each.
  std::string shapes = {};
  double operations = 0;            // multiplications and additions; 0 where memory is what it waits for
  double bytes = 0;                 // of inputs and outputs
  DType operands = DType::Float32;  // what is multiplied
};

// What a thread did when: named spans of time, one inside the other. Filled by the thread that has a TimelineScope.
class Timeline {
 public:
  // The clock that times spans.
  using Clock = std::chrono::steady_clock;
  // One stretch of time.
  struct Span {
    // "step", "data", "compute", "kernel", "callback", "file", ...
    std::string category = {};
    // What was done.
    std::string name = {};
    // From when to when.
    Clock::time_point begin = {}, end = {};
    std::int64_t number = -1;  // of the step or batch it belongs to; -1: none
    std::uint64_t flow = 0;    // work that goes from one thread or process to others has the same one there; 0: none
    std::shared_ptr<const KernelWork> work = nullptr;  // of a kernel or a copy
  };
  // A number that changes with time.
  struct Count {
    // What is counted.
    std::string name = {};
    // When it was that many.
    Clock::time_point time = {};
    // How many there were.
    double value = 0;
  };

  // The spans, in the order in which they ended.
  const std::vector<Span>& spans() const { return spans_; }
  // Spans left out because there were too many.
  std::int64_t dropped() const { return dropped_; }
  // Adds a span, or counts it as dropped.
  void add(Span span);
  // Numbers, in the order in which they were added.
  const std::vector<Count>& counts() const { return counts_; }
  // Adds a number, or counts it as dropped.
  void add(Count count);
  // Counts spans that were left out before they came here.
  void drop(std::int64_t spans) { dropped_ += spans; }
  // The one this thread writes to; nullptr: none.
  static Timeline* current();

  // The lane of this name, made at its first mention; `settle` then is kept to be called by settle().
  std::shared_ptr<TimelineLane> lane(const std::string& name, const std::function<void()>& settle);
  // What was done beside the thread on its behalf: a track for each lane.
  std::vector<TimelineTrack> lanes() const;
  // Waits for all that is to come into the lanes. The end of the thread's TimelineScope calls it.
  void settle() noexcept;

 private:
  std::vector<Span> spans_;
  std::vector<Count> counts_;
  std::vector<std::shared_ptr<TimelineLane>> lanes_;
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

// What a queue of a device does for a timeline's thread, told by whoever takes the times. Thread-safe.
class TimelineLane {
 public:
  // `settle` returns when all that was begun has been added. It must not throw.
  TimelineLane(const std::string& name, std::function<void()> settle);
  // Whose spans these are: "GPU:0 compute".
  const std::string& name() const { return track_.thread; }
  // Adds a span.
  void add(Timeline::Span span);
  // Adds a number.
  void add(Timeline::Count count);
  // Counts spans that are lost.
  void drop(std::int64_t spans);
  // Waits for what is under way.
  void settle() const noexcept { settle_(); }
  // All of it so far.
  TimelineTrack track() const;

 private:
  const std::function<void()> settle_;
  mutable std::mutex mutex_;
  TimelineTrack track_;
};

// Lets this thread write to a timeline while it lives. Ended on the thread that made it; devices are waited for then,
// so that the times of all that was begun are there.
class TimelineScope : public ThreadScope<Timeline, Timeline*> {
 public:
  // Begins the scope.
  explicit TimelineScope(Timeline& timeline) : ThreadScope(&timeline), timeline_(&timeline) {}
  ~TimelineScope() { end(); }
  // Ends the scope before its lifetime does.
  void end();

 private:
  Timeline* timeline_;  // nullptr: ended
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
