#include "cohort/core/thread_pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "cohort/core/cpu_count.h"
#include "cohort/core/error.h"
#include "cohort/core/scratch.h"

namespace cohort {
namespace {

using Clock = std::chrono::steady_clock;

// About what a sleeping thread takes to come back: spinning longer costs more than it can save.
constexpr std::chrono::microseconds kSpin{20};
constexpr int kMaxThreads = 4096;

// True on threads that are running a block: what they start in turn runs right there.
thread_local bool inside_block = false;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");  // "yield" does nothing on most cores
#endif
}

template <class Condition>
bool spin_until(const Condition& condition) {
  const Clock::time_point end = Clock::now() + kSpin;
  do {
    for (int i = 0; i < 32; ++i) {
      if (condition()) return true;
      relax();
    }
  } while (Clock::now() < end);
  return false;
}

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void futex_wake(std::atomic<std::uint32_t>& word, int count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

// Keeps the exception of the lowest block: the same one whatever the timing.
class FirstError {
 public:
  void keep(std::int64_t block) {
    std::lock_guard lock(mutex_);
    if (error_ && block_ < block) return;
    error_ = std::current_exception();
    block_ = block;
  }
  std::exception_ptr take() { return std::exchange(error_, nullptr); }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  std::int64_t block_ = 0;
};

void run_here(std::int64_t blocks, FunctionRef<void(std::int64_t)> body) {
  std::exception_ptr error;
  for (std::int64_t block = 0; block < blocks; ++block) {
    try {
      body(block);
    } catch (...) {
      if (!error) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace

// One job at a time. The gate holds the seats still free (upper half) and the workers inside (lower half): who takes a
// seat may read the job, and the caller changes the job only while the gate is 0. Workers that come late find no seat,
// so the caller never waits for one that is still asleep.
struct ThreadPool::State {
  static constexpr std::uint32_t kSeat = 1u << 16, kInside = kSeat - 1;

  alignas(64) std::atomic<std::uint32_t> gate{0};
  alignas(64) std::atomic<std::int64_t> next{0};
  alignas(64) std::int64_t blocks = 0;
  const FunctionRef<void(std::int64_t)>* body = nullptr;
  FirstError error;

  alignas(64) std::atomic<std::uint32_t> wake{0};
  std::atomic<int> sleepers{0};
  std::atomic<bool> caller_asleep{false};
  std::atomic<bool> stop{false};
  std::atomic<bool> busy{false};
  std::atomic<int> count{0};  // of workers
  std::vector<std::thread> workers;

  void start(int wanted);
  void finish();
  bool take_seat();
  void leave();
  void run_job();
  void work();
  void sleep();
  void wake_workers(int seats);
  void wait_for_workers();
};

void ThreadPool::State::start(int wanted) {
  stop = false;
  workers.reserve(static_cast<std::size_t>(wanted));
  for (int i = 0; i < wanted; ++i) {
    try {
      workers.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      break;  // the system gives no more threads: fewer do the same work
    }
    pthread_setname_np(workers.back().native_handle(), ("cohort-pool-" + std::to_string(i + 1)).c_str());
  }
  count = static_cast<int>(workers.size());
  ComputeThread::announce(count);
}

void ThreadPool::State::finish() {
  stop = true;
  wake.fetch_add(1);
  futex_wake(wake, INT_MAX);
  for (std::thread& worker : workers) worker.join();
  workers.clear();
}

bool ThreadPool::State::take_seat() {
  std::uint32_t seen = gate.load(std::memory_order_relaxed);
  while (seen >= kSeat) {
    if (gate.compare_exchange_weak(seen, seen - kSeat + 1, std::memory_order_acquire, std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

void ThreadPool::State::leave() {
  gate.fetch_and(kInside, std::memory_order_relaxed);  // no blocks are left: nobody need come any more
  if (gate.fetch_sub(1) == 1 && caller_asleep.load()) futex_wake(gate, 1);
}

void ThreadPool::State::run_job() {
  for (;;) {
    const std::int64_t block = next.fetch_add(1, std::memory_order_relaxed);
    if (block >= blocks) return;
    try {
      (*body)(block);
    } catch (...) {
      error.keep(block);
    }
  }
}

void ThreadPool::State::work() {
  const ComputeThread computing;
  inside_block = true;
  while (!stop.load(std::memory_order_relaxed)) {
    const bool called = spin_until(
        [this] { return gate.load(std::memory_order_relaxed) >= kSeat || stop.load(std::memory_order_relaxed); });
    if (!called) {
      sleep();
    } else if (take_seat()) {
      run_job();
      leave();
    }
  }
}

// The caller opens the gate and then looks for sleepers; a worker says that it sleeps and then looks at the gate. All
// four are sequentially consistent, so one of the two sees the other.
void ThreadPool::State::sleep() {
  sleepers.fetch_add(1);
  const std::uint32_t word = wake.load();
  if (gate.load() < kSeat && !stop.load()) futex_wait(wake, word);
  sleepers.fetch_sub(1);
}

void ThreadPool::State::wake_workers(int seats) {
  const int asleep = sleepers.load();
  const int awake = count.load(std::memory_order_relaxed) - asleep;
  if (asleep == 0 || seats <= awake) return;
  wake.fetch_add(1);
  futex_wake(wake, std::min(asleep, seats - awake));
}

void ThreadPool::State::wait_for_workers() {
  if ((gate.fetch_and(kInside, std::memory_order_acquire) & kInside) == 0) return;
  const auto empty = [this] { return gate.load(std::memory_order_acquire) == 0; };
  if (spin_until(empty)) return;
  caller_asleep = true;
  while (const std::uint32_t inside = gate.load()) futex_wait(gate, inside);
  caller_asleep = false;
}

// Never destroyed: work may still run while the statics of the process go down.
ThreadPool& ThreadPool::instance() {
  static ThreadPool* pool = new ThreadPool;
  return *pool;
}

ThreadPool::ThreadPool() : state_(std::make_unique<State>()) { state_->start(usable_cpus() - 1); }

ThreadPool::~ThreadPool() { state_->finish(); }

int ThreadPool::threads() const { return state_->count.load(std::memory_order_relaxed) + 1; }

void ThreadPool::set_threads(int threads) {
  if (threads < 1 || threads > kMaxThreads) {
    throw invalid_argument("ThreadPool", "the number of threads must lie in [1, 4096]", {{"threads", threads}});
  }
  if (inside_block || state_->busy.exchange(true)) {
    throw failed_precondition("ThreadPool", "the number of threads can change only while no work is running",
                              {{"threads", threads}});
  }
  if (threads != this->threads()) {
    state_->finish();
    state_->start(threads - 1);
  }
  state_->busy = false;
}

void ThreadPool::run_blocks(std::int64_t blocks, FunctionRef<void(std::int64_t)> body) {
  ComputeThread::join();
  State& state = *state_;
  // While another caller has the workers, this one is better off computing than waiting for them.
  if (blocks <= 1 || inside_block || state.busy.exchange(true, std::memory_order_acquire)) {
    return run_here(blocks, body);
  }
  const auto seats = static_cast<int>(std::min<std::int64_t>(blocks - 1, state.count.load(std::memory_order_relaxed)));
  if (seats == 0) {
    state.busy.store(false, std::memory_order_release);
    return run_here(blocks, body);
  }
  state.body = &body;
  state.blocks = blocks;
  state.next.store(0, std::memory_order_relaxed);
  state.gate.store(static_cast<std::uint32_t>(seats) * State::kSeat);
  state.wake_workers(seats);
  inside_block = true;
  state.run_job();
  inside_block = false;
  state.wait_for_workers();
  const std::exception_ptr error = state.error.take();
  state.busy.store(false, std::memory_order_release);
  if (error) std::rethrow_exception(error);
}

}  // namespace cohort
