#include "cohort/files/background_work.h"

#include <sys/resource.h>
#include <unistd.h>

#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/log.h"

namespace cohort {

BackgroundWork::~BackgroundWork() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (!error_) return;
  try {
    std::rethrow_exception(error_);
  } catch (const std::exception& error) {
    log::error(who_ + ": what was done in the background has failed. " + error.what());
  }
}

void BackgroundWork::start(std::function<void()> work) {
  wait();
  {
    const std::lock_guard lock(mutex_);
    work_ = std::move(work);
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  changed_.notify_all();
}

void BackgroundWork::wait(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, timeout, [this] { return !work_; })) {
    throw Error(ErrorCode::DeadlineExceeded, who_, "what was begun in the background must end",
                {{"waited_ms", timeout.count()}}, "See whether the disk still answers.");
  }
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

bool BackgroundWork::busy() const {
  const std::lock_guard lock(mutex_);
  return static_cast<bool>(work_);
}

void BackgroundWork::run() {
  // On Linux this is the thread's own: the steps of a training come first.
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 10);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return work_ || ending_; });
    if (!work_) return;
    lock.unlock();
    std::exception_ptr error;
    try {
      work_();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    work_ = nullptr;
    error_ = error;
    changed_.notify_all();
  }
}

}  // namespace cohort
