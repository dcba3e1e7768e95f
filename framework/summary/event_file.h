#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace cohort::summary {

struct EventWriterOptions {
  // Events that wait in memory at most before they are written.
  std::int64_t max_queue = 10;
  // Seconds that the first of them waits at most.
  double flush_secs = 120.0;
  // End of the file's name.
  std::string filename_suffix = ".v2";
};

// The file behind an EventWriter: TFRecords, gathered in memory and written by a thread of its own, whole ones at a
// time, so that readers may look at any moment. Thread-safe. What the thread meets is thrown by the next call.
class EventFile {
 public:
  // Makes <folder>/events.out.tfevents.<seconds>.<host>.<process>.<n><suffix>, its first event in it.
  EventFile(const std::string& folder, EventWriterOptions options, std::string_view first_event);
  // Writes what is left; an error, which close() would throw, is only logged.
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  // Adds an event, serialised.
  void add(std::string_view event);
  // Hands everything added so far to the operating system: it outlives this process.
  void flush();
  // Flushes, syncs with the disk and closes; nothing may be added from then on.
  void close();
  // Path of the file.
  const std::string& path() const { return path_; }

 private:
  using Clock = std::chrono::steady_clock;
  void open(const std::string& folder);
  void serve();
  void write_out();
  void throw_problem();

  const EventWriterOptions options_;
  std::string path_;
  std::mutex file_mutex_;  // held while writing; taken before mutex_
  int descriptor_ = -1;
  std::int64_t good_bytes_ = 0;  // of the file: whole records
  std::string writing_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::string waiting_;
  std::int64_t events_waiting_ = 0;
  Clock::time_point first_waits_since_;
  std::exception_ptr problem_;
  bool closed_ = false;
  std::thread thread_;
};

}  // namespace cohort::summary
