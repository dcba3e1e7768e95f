#include "cohort/distribute/stop_on_signal.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "cohort/core/error.h"

namespace cohort::distribute {
namespace {

constexpr int kStopSignals[] = {SIGINT, SIGTERM};
// A signal may come to any thread, also one of a library that blocks none: hence a handler, which can reach only what
// is global, and leaves the rest to a thread.
std::atomic<int> signal_event = -1;

void note_stop_signal(int) {
  constexpr std::uint64_t kOne = 1;
  const int before = errno;
  [[maybe_unused]] const ssize_t written = ::write(signal_event, &kOne, sizeof(kOne));
  errno = before;
}

// Made once and never taken down: its thread sleeps until a signal comes.
struct StopWatch {
  static StopWatch& instance() {
    static StopWatch* const watch = new StopWatch;
    return *watch;
  }
  StopWatch();
  void wait_for_signals();
  static void take_signals();
  static void give_signals_back();

  std::mutex mutex;  // guards what follows; held while functions are called
  std::map<const StopOnSignal*, std::function<void()>> stops;
};

StopWatch::StopWatch() {
  const int event = ::eventfd(0, EFD_CLOEXEC);
  if (event < 0) {
    throw Error(ErrorCode::ResourceExhausted, "Server", "there must be a file number for signals",
                {{"problem", std::strerror(errno)}}, "Raise the limit of open files.");
  }
  signal_event = event;
  std::thread([this] { wait_for_signals(); }).detach();
}

void StopWatch::wait_for_signals() {
  for (;;) {
    std::uint64_t count = 0;
    if (::read(signal_event, &count, sizeof(count)) < 0) {
      if (errno == EINTR) continue;
      return;
    }
    std::lock_guard lock(mutex);
    for (const auto& [owner, stop] : stops) stop();
  }
}

void StopWatch::take_signals() {
  struct sigaction action {};
  action.sa_handler = note_stop_signal;
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  for (const int number : kStopSignals) {
    struct sigaction now {};
    ::sigaction(number, nullptr, &now);
    if (now.sa_handler == SIG_DFL) ::sigaction(number, &action, nullptr);
  }
}

void StopWatch::give_signals_back() {
  for (const int number : kStopSignals) {
    struct sigaction now {};
    ::sigaction(number, nullptr, &now);
    if (now.sa_handler == note_stop_signal) ::signal(number, SIG_DFL);
  }
}

}  // namespace

StopOnSignal::StopOnSignal(std::function<void()> stop) {
  StopWatch& watch = StopWatch::instance();
  std::lock_guard lock(watch.mutex);
  watch.stops[this] = std::move(stop);
  StopWatch::take_signals();
}

StopOnSignal::~StopOnSignal() {
  StopWatch& watch = StopWatch::instance();
  std::lock_guard lock(watch.mutex);
  watch.stops.erase(this);
  if (watch.stops.empty()) StopWatch::give_signals_back();
}

}  // namespace cohort::distribute
