#include "cohort/summary/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/files/record.h"

namespace cohort::summary {
namespace {

Error event_file_failure(std::string_view expected, const std::string& file, int number) {
  return Error(ErrorCode::ResourceExhausted, "EventWriter", expected,
               {{"file", file}, {"error", std::strerror(number)}},
               "See that log_dir is writable and the disk not full.");
}

EventWriterOptions checked_writer_options(EventWriterOptions options) {
  if (options.max_queue < 0) {
    throw invalid_argument("EventWriter", "max_queue must not be negative", {{"max_queue", options.max_queue}});
  }
  if (!(options.flush_secs > 0.0)) {
    throw invalid_argument("EventWriter", "flush_secs must be positive", {{"flush_secs", options.flush_secs}});
  }
  constexpr double kMonth = 30 * 24 * 3600.0;  // a clock cannot count as far as a double
  options.flush_secs = std::min(options.flush_secs, kMonth);
  if (options.filename_suffix.find('/') != std::string::npos) {
    throw invalid_argument("EventWriter", "filename_suffix must be the end of a name",
                           {{"filename_suffix", options.filename_suffix}});
  }
  return options;
}

}  // namespace

EventFile::EventFile(const std::string& folder, EventWriterOptions options, std::string_view first_event)
    : options_(checked_writer_options(std::move(options))) {
  open(folder);
  append_record(waiting_, first_event);
  try {
    write_out();
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
  thread_ = std::thread([this] { serve(); });
}

EventFile::~EventFile() {
  try {
    close();
  } catch (const std::exception& error) {
    log::error(error.what());
  }
}

void EventFile::open(const std::string& folder) {
  static std::atomic<int> files{0};
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  char host[256] = "localhost";
  ::gethostname(host, sizeof(host) - 1);
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::string stem =
      "events.out.tfevents." + std::to_string(seconds) + "." + host + "." + std::to_string(::getpid()) + ".";
  // In containers of one name processes have the same few numbers: a file that is there already is another's.
  do {
    path_ = (std::filesystem::path(folder) / (stem + std::to_string(files++) + options_.filename_suffix)).string();
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) throw event_file_failure("a file must be made in log_dir", path_, errno);
}

void EventFile::throw_problem() {
  if (problem_) std::rethrow_exception(std::exchange(problem_, nullptr));
}

void EventFile::add(std::string_view event) {
  // A disk that is slower than what is logged slows down whoever logs.
  constexpr std::size_t kMostWaiting = std::size_t{32} << 20;
  bool too_much = false;
  {
    const std::lock_guard lock(mutex_);
    throw_problem();
    if (closed_) throw failed_precondition("EventWriter", "a writer that is not closed is expected", {{"file", path_}});
    if (events_waiting_++ == 0) first_waits_since_ = Clock::now();
    append_record(waiting_, event);
    too_much = waiting_.size() > kMostWaiting;
    // The thread sleeps until the time of the first is up, or until there are too many.
    if (events_waiting_ == 1 || events_waiting_ == options_.max_queue + 1) changed_.notify_one();
  }
  if (too_much) write_out();
}

void EventFile::flush() {
  {
    const std::lock_guard lock(mutex_);
    throw_problem();
    if (closed_) return;
  }
  write_out();
}

void EventFile::close() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(closed_, true)) return;
    changed_.notify_one();
  }
  thread_.join();
  std::exception_ptr problem;
  try {
    write_out();
  } catch (const Error&) {
    problem = std::current_exception();
  }
  const bool synced = ::fsync(descriptor_) == 0 || errno == EINVAL;  // pipes and the like cannot
  const int number = errno;
  ::close(descriptor_);
  if (problem) std::rethrow_exception(problem);
  if (!synced) throw event_file_failure("the file must be written to the disk", path_, number);
}

void EventFile::serve() {
  const auto patience = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.flush_secs));
  std::unique_lock lock(mutex_);
  while (!closed_) {
    if (events_waiting_ == 0) {
      changed_.wait(lock);
    } else if (events_waiting_ <= options_.max_queue && Clock::now() < first_waits_since_ + patience) {
      changed_.wait_until(lock, first_waits_since_ + patience);
    } else {
      lock.unlock();
      try {
        write_out();
        lock.lock();
      } catch (const Error&) {
        lock.lock();
        problem_ = std::current_exception();
        // Tried again when the next event comes, or after as long again.
        events_waiting_ = 1;
        first_waits_since_ = Clock::now();
      }
    }
  }
}

void EventFile::write_out() {
  const std::lock_guard file_lock(file_mutex_);
  {
    const std::lock_guard lock(mutex_);
    writing_.append(waiting_);  // behind what could not be written before
    waiting_.clear();
    events_waiting_ = 0;
  }
  std::size_t done = 0;
  while (done < writing_.size()) {
    const ssize_t written = ::write(descriptor_, writing_.data() + done, writing_.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const int number = errno;
      // Half a record at the end would hide all that is written behind it later.
      if (done > 0 && ::ftruncate(descriptor_, good_bytes_) != 0) {
        good_bytes_ += static_cast<std::int64_t>(done);
        writing_.erase(0, done);
      }
      throw event_file_failure("events must be written", path_, number);
    }
    done += static_cast<std::size_t>(written);
  }
  good_bytes_ += static_cast<std::int64_t>(done);
  writing_.clear();
}

}  // namespace cohort::summary
