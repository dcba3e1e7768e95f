#include "programs/cohort/stop_on_signal.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "cohort/core/error.h"

namespace cohort::programs {
namespace {

// A signal may come to any thread, also one of a library that blocks none: hence a handler, which can reach only what
// is global, and leaves the rest to a thread.
std::atomic<int> event = -1;
constexpr std::uint64_t kSignal = 1;
constexpr std::uint64_t kEnd = 1ull << 32;

void handle(int) {
  const int before = errno;
  [[maybe_unused]] const ssize_t written = ::write(event, &kSignal, sizeof(kSignal));
  errno = before;
}

void set_handlers(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  for (const int number : {SIGINT, SIGTERM}) ::sigaction(number, &action, nullptr);
}

}  // namespace

StopOnSignal::StopOnSignal(std::function<void()> stop) {
  event = ::eventfd(0, EFD_CLOEXEC);
  if (event < 0) {
    throw Error(ErrorCode::ResourceExhausted, "cohort server", "there must be a file number for signals",
                {{"problem", std::strerror(errno)}}, "Raise the limit of open files.");
  }
  waiter_ = std::thread([stop = std::move(stop)] {
    std::uint64_t value = 0;
    while (::read(event, &value, sizeof(value)) < 0 && errno == EINTR) {
    }
    if (value < kEnd) stop();
  });
  set_handlers(handle);
}

StopOnSignal::~StopOnSignal() {
  set_handlers(SIG_DFL);
  [[maybe_unused]] const ssize_t written = ::write(event, &kEnd, sizeof(kEnd));
  waiter_.join();
  ::close(event.exchange(-1));
}

}  // namespace cohort::programs
