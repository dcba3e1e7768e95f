#include "cohort/distribute/worker/call_thread.h"

#include <utility>

namespace cohort::distribute {

CallThread::CallThread() : thread_([this] { run(); }) {}

CallThread::~CallThread() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void CallThread::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return call_ || ends_; });
    if (!call_) return;
    lock.unlock();
    std::exception_ptr error;
    try {
      call_();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    error_ = error;
    call_ = nullptr;
    changed_.notify_all();
  }
}

void CallThread::start(std::function<void()> call) {
  {
    std::lock_guard lock(mutex_);
    call_ = std::move(call);
  }
  changed_.notify_all();
}

std::exception_ptr CallThread::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !call_; });
  return std::exchange(error_, nullptr);
}

}  // namespace cohort::distribute
