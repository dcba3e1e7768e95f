#include "programs/cohort/stop_on_signal.h"

#include <utility>

namespace cohort::programs {

StopOnSignal::StopOnSignal() {
  sigemptyset(&signals_);
  for (const int number : {SIGINT, SIGTERM}) sigaddset(&signals_, number);
  ::pthread_sigmask(SIG_BLOCK, &signals_, &before_);
}

StopOnSignal::~StopOnSignal() {
  if (waiter_.joinable()) {
    ended_ = true;
    ::pthread_kill(waiter_.native_handle(), SIGTERM);
    waiter_.join();
  }
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void StopOnSignal::watch(std::function<void()> stop) {
  waiter_ = std::thread([this, stop = std::move(stop)] {
    int number = 0;
    ::sigwait(&signals_, &number);
    if (!ended_) stop();
  });
}

}  // namespace cohort::programs
