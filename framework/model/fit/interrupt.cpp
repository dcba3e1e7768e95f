#include "cohort/model/fit/interrupt.h"

#include <atomic>
#include <csignal>
#include <mutex>

namespace cohort {
namespace {

// A signal may come on any thread.
struct NotedSignal {
  const int number;
  std::atomic<int> came = 0;
  struct sigaction before = {};
};
static_assert(std::atomic<int>::is_always_lock_free);
NotedSignal ctrl_c{SIGINT}, termination{SIGTERM};
std::mutex mutex;
int scopes = 0;

void note(int number) {
  NotedSignal& noted = number == SIGTERM ? termination : ctrl_c;
  if (noted.came.exchange(1) != 0) {
    // Whoever presses twice means it: the former handler decides.
    sigaction(number, &noted.before, nullptr);
    std::raise(number);
  }
}

}  // namespace

InterruptScope::InterruptScope() {
  std::lock_guard lock(mutex);
  if (scopes++ > 0) return;
  struct sigaction action = {};
  action.sa_handler = note;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (NotedSignal* noted : {&ctrl_c, &termination}) {
    noted->came = 0;
    sigaction(noted->number, &action, &noted->before);
  }
}

InterruptScope::~InterruptScope() {
  std::lock_guard lock(mutex);
  if (--scopes > 0) return;
  for (NotedSignal* noted : {&ctrl_c, &termination}) {
    sigaction(noted->number, &noted->before, nullptr);
    noted->came = 0;
  }
}

bool InterruptScope::interrupted() const { return ctrl_c.came != 0 || termination.came != 0; }
bool InterruptScope::terminated() const { return termination.came != 0; }

}  // namespace cohort
