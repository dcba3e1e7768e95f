#include "cohort/datasets/transforms/reader_threads.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <system_error>

#include "cohort/core/cpu_count.h"
#include "cohort/core/denormals.h"
#include "cohort/core/scratch.h"
#include "cohort/core/thread_pool.h"
#include "cohort/core/thread_share.h"

namespace cohort::datasets {
namespace {

constexpr std::size_t kLeastReaders = 8, kReadersOfCore = 2;

}  // namespace

// Never destroyed: iterators in static storage may outlive any other. What is submitted after the end of the threads is
// done by whoever waits for it.
ReaderThreads& ReaderThreads::instance() {
  static ReaderThreads* threads = [] {
    auto* made = new ReaderThreads;
    std::atexit([] { instance().stop(); });
    return made;
  }();
  return *threads;
}

ReaderThreads::ReaderThreads()
    : most_(std::max(kLeastReaders, kReadersOfCore * static_cast<std::size_t>(usable_cpus()))), process_(getpid()) {
  threads_.reserve(most_);
}

std::size_t ReaderThreads::for_one_caller() const {
  return std::min(most_, kReadersOfCore * static_cast<std::size_t>(ThreadPool::instance().threads()));
}

void ReaderThreads::stop() {
  if (getpid() != process_) return;
  std::vector<std::thread> ending;
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    ending.swap(threads_);
  }
  wanted_.notify_all();
  for (std::thread& thread : ending) thread.join();
}

void ReaderThreads::start_one() {
  try {
    threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
    return;  // the system gives no more threads: fewer do the same work
  }
  pthread_setname_np(threads_.back().native_handle(), ("cohort-read-" + std::to_string(threads_.size())).c_str());
  ComputeThread::announce();
}

void ReaderThreads::work() {
  const ComputeThread computing;
  const FlushDenormals flush;
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wanted_.wait(lock, [this] { return stop_ || first_; });
    --idle_;
    if (stop_) return;
    ReaderTask& task = *first_;
    unlink(task);
    lock.unlock();
    {
      const ThreadShare share(task.share_);
      task.read();
    }
    lock.lock();
    // While the lock is held whoever waits for it cannot be gone.
    task.state_.store(ReaderTask::State::Done, std::memory_order_release);
    done_.notify_all();
  }
}

void ReaderThreads::unlink(ReaderTask& task) {
  (task.before_ ? task.before_->behind_ : first_) = task.behind_;
  (task.behind_ ? task.behind_->before_ : last_) = task.before_;
  task.before_ = task.behind_ = nullptr;
  task.state_.store(ReaderTask::State::Running, std::memory_order_relaxed);
  --waiting_;
}

void ReaderThreads::submit(ReaderTask& task) {
  task.share_ = ThreadPool::instance().threads();
  {
    std::lock_guard lock(mutex_);
    task.state_.store(ReaderTask::State::Waiting, std::memory_order_relaxed);
    task.before_ = last_;
    (last_ ? last_->behind_ : first_) = &task;
    last_ = &task;
    if (++waiting_ > idle_ && threads_.size() < most_ && !stop_ && getpid() == process_) start_one();
  }
  wanted_.notify_one();
}

bool ReaderThreads::take(ReaderTask& task) {
  std::lock_guard lock(mutex_);
  if (task.state_.load(std::memory_order_relaxed) != ReaderTask::State::Waiting) return false;
  unlink(task);
  return true;
}

void ReaderThreads::wait_for(ReaderTask& task) {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&task] { return task.is_read(); });
}

void ReaderThreads::finish(ReaderTask& task) {
  if (!take(task)) return wait_for(task);
  const FlushDenormals flush;
  task.read();
  task.state_.store(ReaderTask::State::Done, std::memory_order_release);
}

bool ReaderThreads::withdraw(ReaderTask& task) {
  if (take(task)) {
    task.state_.store(ReaderTask::State::Free, std::memory_order_relaxed);
    return false;
  }
  wait_for(task);
  return true;
}

}  // namespace cohort::datasets
