#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cohort/core/timeline.h"

namespace cohort::proto {
class TraceResultProto;
}

namespace cohort::distribute {

// What the threads of a task did, for as long as somebody wants to know. Thread-safe.
class TraceLog {
 public:
  // One load, while nobody does.
  bool recording() const { return recording_.load(std::memory_order_relaxed); }
  // Begins anew.
  void begin();
  // Ends it, and gives what was noted: a track for each thread and each queue of a device, of the given process.
  std::vector<TimelineTrack> end(const std::string& process);
  // Notes what this thread did, under its name, and devices on its behalf; the first name of a thread holds.
  void add(const Timeline& timeline, const std::string& thread_name);

 private:
  void add_spans(const Timeline& timeline, TimelineTrack& track);

  std::atomic<bool> recording_{false};
  std::mutex mutex_;  // guards what follows
  std::map<std::thread::id, TimelineTrack> tracks_;
  std::map<std::string, TimelineTrack> lanes_;  // of devices: all threads use the same
  std::size_t spans_ = 0;                       // in all of them
};

// While it lives, the spans of this thread go to a log that is recording.
class TraceRecording {
 public:
  explicit TraceRecording(TraceLog& log, const char* thread_name = "") : log_(log), thread_name_(thread_name) {
    if (log.recording()) begin();
  }
  ~TraceRecording() {
    if (recorded_) end();
  }
  TraceRecording(const TraceRecording&) = delete;

 private:
  struct Recorded {
    Timeline timeline;
    TimelineScope scope{timeline};
  };
  void begin();
  void end();

  TraceLog& log_;
  const char* thread_name_;
  std::unique_ptr<Recorded> recorded_;
};

// Tracks of one task as a message, with times of its clock.
void write_trace(const std::vector<TimelineTrack>& tracks, proto::TraceResultProto& to);

// What read_trace makes of one.
struct TraceOrigin {
  std::string task;
  std::chrono::nanoseconds clock_offset{0};  // by which the task's clock is ahead of ours
  // When the recording began and ended; what lies elsewhere is left out.
  Timeline::Clock::time_point begin, end;
};
// The task's tracks, with times of our clock. Throws DataLoss for what nobody writes.
std::vector<TimelineTrack> read_trace(const proto::TraceResultProto& from, const TraceOrigin& origin);

}  // namespace cohort::distribute
