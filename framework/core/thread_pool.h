#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace cohort {

// A borrowed reference to a callable; never allocates.
template <class Signature>
class FunctionRef;
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>) FunctionRef(F&& f)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(static_cast<Args>(args)...);
        }) {}
  R operator()(Args... args) const { return call_(object_, static_cast<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

// One piece of work that nobody waits for yet, such as the next element of a dataset. Idle threads of the pool do it;
// blocks of jobs go first, so that a job waits for a thread no longer than one such piece takes.
class BackgroundTask {
 public:
  virtual ~BackgroundTask() = default;
  // Does the work, on a thread of the pool or on the one that withdraws the task; throws nothing.
  virtual void run() noexcept = 0;
  // Whether it is done: what it wrote can be read then.
  bool is_done() const { return state_.load(std::memory_order_acquire) == State::Done; }

 private:
  friend class ThreadPool;
  enum class State : std::uint32_t { Free, Waiting, Running, Done };
  std::atomic<State> state_{State::Free};
  int share_ = 0;                     // threads that a job inside it may have
  BackgroundTask* before_ = nullptr;  // among those that wait
  BackgroundTask* behind_ = nullptr;
};

// The one compute pool of the process, for any number of callers at once. Tasks never block on each other.
class ThreadPool {
 public:
  // The pool.
  static ThreadPool& instance();

  // Threads that may compute for a caller, itself included: one for each core, or its ThreadShare.
  int threads() const;
  // Takes effect at once; must not be called while work is running.
  void set_threads(int threads);

  // Calls body(i) for i in [0, blocks) on the pool and the caller; returns when all are done, rethrowing the first
  // exception. What a block does must depend on its number alone, so that results do not depend on the thread count.
  // Nested calls have the help of idle threads too.
  void run_blocks(std::int64_t blocks, FunctionRef<void(std::int64_t)> body);

  // Lets an idle thread do this task, first come, first served. It must live until finish() or withdraw() returns.
  void submit(BackgroundTask& task);
  // Returns when a submitted task is done; does it here where nobody has begun it.
  void finish(BackgroundTask& task);
  // Takes a submitted task back where nobody has begun it, and waits for the end of one that is begun; whether it was
  // done.
  bool withdraw(BackgroundTask& task);

 private:
  ThreadPool();
  ~ThreadPool();
  struct State;
  std::unique_ptr<State> state_;
};

// Splits [0, count) into ranges of `grain` elements (the last may be shorter) and calls body(begin, end) for each.
inline void parallel_for(std::int64_t count, std::int64_t grain, FunctionRef<void(std::int64_t, std::int64_t)> body) {
  if (count <= 0) return;
  if (count <= grain) return body(0, count);
  const std::int64_t blocks = (count + grain - 1) / grain;
  ThreadPool::instance().run_blocks(blocks, [&](std::int64_t block) {
    const std::int64_t begin = block * grain;
    body(begin, begin + grain < count ? begin + grain : count);
  });
}

}  // namespace cohort
