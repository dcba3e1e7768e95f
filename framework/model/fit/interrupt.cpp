#include "cohort/model/fit/interrupt.h"

#include <atomic>
#include <csignal>
#include <mutex>

namespace cohort {
namespace {

// A signal may come on any thread.
std::atomic<int> pressed = 0;
static_assert(std::atomic<int>::is_always_lock_free);
struct sigaction before;
std::mutex mutex;
int scopes = 0;

void note(int) {
  if (pressed.exchange(1) != 0) {
    // Whoever presses twice means it: the former handler decides.
    sigaction(SIGINT, &before, nullptr);
    std::raise(SIGINT);
  }
}

}  // namespace

InterruptScope::InterruptScope() {
  std::lock_guard lock(mutex);
  if (scopes++ > 0) return;
  pressed = 0;
  struct sigaction action = {};
  action.sa_handler = note;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &before);
}

InterruptScope::~InterruptScope() {
  std::lock_guard lock(mutex);
  if (--scopes > 0) return;
  sigaction(SIGINT, &before, nullptr);
  pressed = 0;
}

bool InterruptScope::interrupted() const { return pressed != 0; }

}  // namespace cohort
