#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace cohort::datasets {

// One piece of work that waits for files or for other programs. Reader threads do it; the compute pool's are left to
// those who compute.
class ReaderTask {
 public:
  virtual ~ReaderTask() = default;
  // Does the work, on a reader thread or on the one that waits for it; throws nothing.
  virtual void read() noexcept = 0;
  // Whether it is done: what it wrote can be read then.
  bool is_read() const { return state_.load(std::memory_order_acquire) == State::Done; }

 private:
  friend class ReaderThreads;
  enum class State : std::uint32_t { Free, Waiting, Running, Done };
  std::atomic<State> state_{State::Free};
  int share_ = 0;                 // threads that a job inside it may have
  ReaderTask* before_ = nullptr;  // among those that wait
  ReaderTask* behind_ = nullptr;
};

// The threads of the process that wait for files. Started when there is work for one more, and kept. Thread-safe.
class ReaderThreads {
 public:
  // All of them.
  static ReaderThreads& instance();

  // How many there may be: twice as many as cores, and at least 8, so that a slow file holds up none of the others.
  std::size_t most() const { return most_; }
  // How many read for one caller that computes as well, itself included: two for each thread that may compute for it,
  // one that waits and one that computes.
  std::size_t for_one_caller() const;

  // Lets a thread do this task, first come, first served. It must live until finish() or withdraw() returns.
  void submit(ReaderTask& task);
  // Returns when a submitted task is done; does it here where nobody has begun it.
  void finish(ReaderTask& task);
  // Takes a submitted task back where nobody has begun it, and waits for the end of one that is begun; whether it was
  // done.
  bool withdraw(ReaderTask& task);

 private:
  ReaderThreads();
  void stop();
  void start_one();
  void work();
  bool take(ReaderTask& task);
  void unlink(ReaderTask& task);
  void wait_for(ReaderTask& task);

  const std::size_t most_;
  const int process_;  // the threads are those of this one, not of its forks
  std::mutex mutex_;
  std::condition_variable wanted_, done_;
  // Guarded by it:
  ReaderTask* first_ = nullptr;
  ReaderTask* last_ = nullptr;
  std::size_t waiting_ = 0, idle_ = 0;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace cohort::datasets
