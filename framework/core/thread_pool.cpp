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
#include "cohort/core/denormals.h"
#include "cohort/core/error.h"
#include "cohort/core/scratch.h"
#include "cohort/core/thread_share.h"

namespace cohort {
namespace {

using Clock = std::chrono::steady_clock;

// About what a sleeping thread takes to come back: spinning longer costs more than it can save.
constexpr std::chrono::microseconds kSpin{20};
constexpr int kMaxThreads = 4096;

// Jobs at once; whoever finds no place for another one computes alone.
constexpr int kSlots = 64;
// Of a job, one for each thread that it may have; where these are more, they share.
constexpr int kMostParts = 64;

// Of threads that are running a block.
thread_local bool inside_block = false;
// The most threads a job of this thread may have.
thread_local int share = kMaxThreads;
// Where this thread's job was last: most likely free, and looked at by few.
thread_local int last_slot = 0;
// The part of any job that this thread begins with: a caller's is the first.
thread_local int own_part = 0;

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

// A job. The gate holds the helpers it wants (upper half, whose top bit says that the caller is itself in a block of
// another job) and the helpers inside (lower half): who comes in by it may read the job until it goes out, and the job
// is over only when the gate is 0. The upper half falls to 0 when no block is left, so that a worker which comes late
// finds no way in and the caller never waits for one that is still asleep. One that steps in where it is not wanted
// goes out again at once. What the caller wrote comes with its opening of the gate, which every later change of the
// gate hands on; what helpers wrote comes with their going out, in the same way. All changes are additions or single
// masks, never compared and tried again: many workers come and go in the same microsecond.
struct Slot {
  static constexpr std::uint32_t kWanted = 1u << 16, kInside = kWanted - 1, kNested = 1u << 31;
  static int wanted(std::uint32_t gate) { return static_cast<int>((gate & ~kNested) / kWanted); }
  static int inside(std::uint32_t gate) { return static_cast<int>(gate & kInside); }

  alignas(64) std::atomic<std::uint32_t> gate{0};
  std::atomic<bool> caller_asleep{false};
  // The blocks in equal parts, of which every thread begins with its own: what lies at one place of a batch is computed
  // by one core, op after op, and stays in its caches. Those who are done take what is left of the others.
  alignas(64) std::atomic<std::int64_t> next[kMostParts] = {};
  alignas(64) std::int64_t ends[kMostParts] = {};
  alignas(64) std::atomic<bool> taken{false};
  int parts = 1;
  const FunctionRef<void(std::int64_t)>* body = nullptr;
  int share = 0;
  FirstError error;

  // Nobody else has the slot.
  bool take() { return !taken.load(std::memory_order_relaxed) && !taken.exchange(true, std::memory_order_acquire); }
  void give_back() { taken.store(false, std::memory_order_release); }
  bool enter();
  void leave();
  void open(std::uint32_t helpers, bool nested) { gate.fetch_add(helpers * kWanted + (nested ? kNested : 0)); }
  void close();
  void cut(std::int64_t blocks, int threads);
  std::int64_t take_block(int& part);
  bool run_block(int& part);
  void wait_for_helpers();
};

bool Slot::enter() {
  const std::uint32_t seen = gate.fetch_add(1);
  if (inside(seen) < wanted(seen)) return true;
  leave();
  return false;
}

// The first who finds no block left does it for all.
void Slot::close() {
  if (wanted(gate.load(std::memory_order_relaxed)) > 0) gate.fetch_and(kInside, std::memory_order_relaxed);
}

// The caller says that it sleeps and then looks at the gate; the last helper goes out and then looks for a sleeper. All
// four are sequentially consistent, so one of the two sees the other. The slot may have another job by then: its caller
// looks at the gate once more for nothing.
void Slot::leave() {
  if (gate.fetch_sub(1) == 1 && caller_asleep.load()) futex_wake(gate, 1);
}

void Slot::wait_for_helpers() {
  if ((gate.fetch_and(kInside, std::memory_order_acquire) & kInside) == 0) return;
  if (spin_until([this] { return gate.load(std::memory_order_acquire) == 0; })) return;
  caller_asleep = true;
  while (const std::uint32_t inside = gate.load()) futex_wait(gate, inside);
  caller_asleep = false;
}

void Slot::cut(std::int64_t blocks, int threads) {
  parts = std::min(threads, kMostParts);
  std::int64_t begin = 0;
  for (int i = 0; i < parts; ++i) {
    next[i].store(begin, std::memory_order_relaxed);
    ends[i] = begin += (blocks - begin) / (parts - i);
  }
}

// A block that nobody has begun, from `part` or the nearest one behind it that has any left, or -1.
std::int64_t Slot::take_block(int& part) {
  for (int i = 0; i < parts; ++i, part = part + 1 < parts ? part + 1 : 0) {
    if (next[part].load(std::memory_order_relaxed) >= ends[part]) continue;
    const std::int64_t block = next[part].fetch_add(1, std::memory_order_relaxed);
    if (block < ends[part]) return block;
  }
  return -1;
}

bool Slot::run_block(int& part) {
  const std::int64_t block = take_block(part);
  if (block < 0) return false;
  try {
    (*body)(block);
  } catch (...) {
    error.keep(block);
  }
  return true;
}

// What a look at all gates shows; it may be old when it is used, so nothing but speed may depend on it.
struct Overview {
  int callers = 0;    // that compute, with blocks left to share
  int helpers = 0;    // inside any job
  int neediest = -1;  // an open slot with the fewest helpers
  int its_helpers = 0;
};

}  // namespace

// Each job has a slot, and whoever called for it does its blocks and nothing else: a thread that took up other work
// while it waits could be kept by it, and has working memory (Scratch) in use that the other work would write over. So
// only workers between two blocks go from job to job. They go where the fewest are, which gives callers equal shares:
// a job with no helper gets one as soon as another's has ended a block. Idle ones come only while fewer threads
// compute, callers included, than the pool has: one more would take a core from a thread that somebody waits for.
struct ThreadPool::State {
  Slot slots[kSlots];
  // Slots that ever had a job are the first ones; a new thread begins with the first.
  alignas(64) std::atomic<int> used{1};
  std::atomic<int> count{0};  // of workers
  std::atomic<bool> stop{false};
  alignas(64) std::atomic<std::uint32_t> wake{0};
  std::atomic<int> sleepers{0};
  // Background tasks: how many wait and how many are being done. The list of those that wait is guarded by the mutex.
  alignas(64) std::atomic<int> tasks_waiting{0};
  std::atomic<int> tasks_running{0};
  std::mutex tasks_mutex;
  BackgroundTask* first_task = nullptr;
  BackgroundTask* last_task = nullptr;
  std::vector<std::thread> workers;

  void start(int wanted);
  void finish();
  Slot* take_slot();
  Overview look(int first, std::memory_order order = std::memory_order_relaxed) const;
  int job_for_idle(int last, std::memory_order order = std::memory_order_relaxed) const;
  bool goes_on(int& job) const;
  void work();
  int help(int job);
  void sleep(int last);
  void wake_workers(int wanted);
  void wake_for_others();
  bool has_room_for_task(std::memory_order order = std::memory_order_relaxed) const;
  BackgroundTask* take_task();
  bool take_task(BackgroundTask& task);
  void unlink(BackgroundTask& task);
  void run_task(BackgroundTask& task);
};

void ThreadPool::State::start(int wanted) {
  stop = false;
  workers.reserve(static_cast<std::size_t>(wanted));
  for (int i = 0; i < wanted; ++i) {
    try {
      workers.emplace_back([this, part = i + 1] {
        own_part = part;
        work();
      });
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

Slot* ThreadPool::State::take_slot() {
  if (slots[last_slot].take()) return &slots[last_slot];
  for (int i = 0; i < kSlots; ++i) {
    if (!slots[i].take()) continue;
    last_slot = i;
    int seen = used.load(std::memory_order_relaxed);
    while (seen <= i && !used.compare_exchange_weak(seen, i + 1)) {
    }
    return &slots[i];
  }
  return nullptr;
}

// Of slots that are equally needy it names the first one from `first` on.
Overview ThreadPool::State::look(int first, std::memory_order order) const {
  Overview seen;
  const int slots_used = used.load(order);
  for (int i = 0, slot = first; i < slots_used; ++i, ++slot) {
    if (slot >= slots_used) slot = 0;
    const std::uint32_t gate = slots[slot].gate.load(order);
    const int inside = Slot::inside(gate), wanted = Slot::wanted(gate);
    seen.helpers += inside;
    seen.callers += wanted > 0 && (gate & Slot::kNested) == 0;
    if (inside < wanted && (seen.neediest < 0 || inside < seen.its_helpers)) {
      seen.neediest = slot;
      seen.its_helpers = inside;
    }
  }
  return seen;
}

int ThreadPool::State::job_for_idle(int last, std::memory_order order) const {
  const Overview seen = look(last, order);
  return seen.helpers + seen.callers <= count.load(std::memory_order_relaxed) ? seen.neediest : -1;
}

// Whether a worker that has ended a block takes another one of the same job; if not, where it is wanted.
bool ThreadPool::State::goes_on(int& job) const {
  if (used.load(std::memory_order_relaxed) == 1) return true;
  const Overview seen = look(job);
  if (seen.neediest < 0 || seen.neediest == job) return true;
  const int inside = Slot::inside(slots[job].gate.load(std::memory_order_relaxed));
  if (seen.its_helpers + 1 < inside) {
    job = seen.neediest;
    return false;
  }
  // There is a core for each caller and none for a worker.
  const bool too_many = seen.helpers + seen.callers > count.load(std::memory_order_relaxed) + 1;
  if (seen.its_helpers > 0 || !too_many) return true;
  job = -1;
  return false;
}

void ThreadPool::State::work() {
  const ComputeThread computing;
  const FlushDenormals flush;
  inside_block = true;
  int last = 0;
  while (!stop.load(std::memory_order_relaxed)) {
    int job = -1;
    BackgroundTask* task = nullptr;
    const bool called = spin_until([&] {
      job = job_for_idle(last);
      if (job < 0) task = take_task();
      return job >= 0 || task || stop.load(std::memory_order_relaxed);
    });
    if (task) run_task(*task);
    if (!called) sleep(last);
    while (job >= 0 && slots[job].enter()) {
      last = job;
      wake_for_others();  // who may have counted on this one
      job = help(job);
    }
  }
}

// Returns the job that it is wanted for next, or -1.
int ThreadPool::State::help(int job) {
  Slot& slot = slots[job];
  share = slot.share;
  int next = job, part = own_part % slot.parts;
  do {
    if (!slot.run_block(part)) {
      slot.close();
      next = -1;
      break;
    }
  } while (goes_on(next));
  slot.leave();
  return next;
}

// The caller opens a gate and then looks for sleepers; a worker says that it sleeps and then looks at the gates. All
// are sequentially consistent, so one of the two sees the other.
void ThreadPool::State::sleep(int last) {
  sleepers.fetch_add(1);
  const std::uint32_t word = wake.load();
  const bool needed =
      job_for_idle(last, std::memory_order_seq_cst) >= 0 || has_room_for_task(std::memory_order_seq_cst);
  if (!needed && !stop.load()) futex_wait(wake, word);
  sleepers.fetch_sub(1);
}

void ThreadPool::State::wake_workers(int wanted) {
  const int asleep = sleepers.load();
  if (asleep == 0) return;
  const int all = count.load(std::memory_order_relaxed);
  const Overview seen = look(0);
  const int useful = std::min(wanted, all + 1 - seen.callers - seen.helpers);
  const int awake = std::max(0, all - asleep - seen.helpers);
  if (useful <= awake) return;
  wake.fetch_add(1);
  futex_wake(wake, std::min(asleep, useful - awake));
}

void ThreadPool::State::wake_for_others() {
  if (used.load(std::memory_order_relaxed) == 1 || sleepers.load(std::memory_order_relaxed) == 0) return;
  if (job_for_idle(0) >= 0) wake_workers(1);
}

// A task is begun only where a core is free: those who compute for somebody that waits need theirs.
bool ThreadPool::State::has_room_for_task(std::memory_order order) const {
  if (tasks_waiting.load(order) == 0) return false;
  const Overview seen = look(0, order);
  return seen.helpers + seen.callers + tasks_running.load(order) <= count.load(std::memory_order_relaxed);
}

void ThreadPool::State::unlink(BackgroundTask& task) {
  (task.before_ ? task.before_->behind_ : first_task) = task.behind_;
  (task.behind_ ? task.behind_->before_ : last_task) = task.before_;
  task.before_ = task.behind_ = nullptr;
  task.state_.store(BackgroundTask::State::Running, std::memory_order_relaxed);
  tasks_waiting.fetch_sub(1, std::memory_order_relaxed);
}

BackgroundTask* ThreadPool::State::take_task() {
  if (!has_room_for_task()) return nullptr;
  std::lock_guard lock(tasks_mutex);
  BackgroundTask* task = first_task;
  if (task) unlink(*task);
  return task;
}

bool ThreadPool::State::take_task(BackgroundTask& task) {
  std::lock_guard lock(tasks_mutex);
  if (task.state_.load(std::memory_order_relaxed) != BackgroundTask::State::Waiting) return false;
  unlink(task);
  return true;
}

void ThreadPool::State::run_task(BackgroundTask& task) {
  tasks_running.fetch_add(1, std::memory_order_relaxed);
  const int before = std::exchange(share, task.share_);
  task.run();
  share = before;
  tasks_running.fetch_sub(1, std::memory_order_relaxed);
  task.state_.store(BackgroundTask::State::Done, std::memory_order_release);
  task.state_.notify_all();
}

void ThreadPool::submit(BackgroundTask& task) {
  State& state = *state_;
  task.share_ = share;
  {
    std::lock_guard lock(state.tasks_mutex);
    task.state_.store(BackgroundTask::State::Waiting, std::memory_order_relaxed);
    task.before_ = state.last_task;
    (state.last_task ? state.last_task->behind_ : state.first_task) = &task;
    state.last_task = &task;
    state.tasks_waiting.fetch_add(1);
  }
  // As in sleep(): one of the two sees the other.
  if (state.sleepers.load() > 0 && state.has_room_for_task()) {
    state.wake.fetch_add(1);
    futex_wake(state.wake, 1);
  }
}

void ThreadPool::finish(BackgroundTask& task) {
  if (state_->take_task(task)) {
    ComputeThread::join();
    const FlushDenormals flush;
    return state_->run_task(task);
  }
  for (auto now = task.state_.load(std::memory_order_acquire); now != BackgroundTask::State::Done;
       now = task.state_.load(std::memory_order_acquire)) {
    task.state_.wait(now, std::memory_order_acquire);
  }
}

bool ThreadPool::withdraw(BackgroundTask& task) {
  if (state_->take_task(task)) {
    task.state_.store(BackgroundTask::State::Free, std::memory_order_relaxed);
    return false;
  }
  finish(task);
  return true;
}

// Never destroyed: work may still run while the statics of the process go down.
ThreadPool& ThreadPool::instance() {
  static ThreadPool* pool = new ThreadPool;
  return *pool;
}

ThreadPool::ThreadPool() : state_(std::make_unique<State>()) { state_->start(usable_cpus() - 1); }

ThreadPool::~ThreadPool() { state_->finish(); }

int ThreadPool::threads() const { return std::min(share, state_->count.load(std::memory_order_relaxed) + 1); }

// With every slot taken no job can begin: who calls meanwhile computes alone.
void ThreadPool::set_threads(int threads) {
  if (threads < 1 || threads > kMaxThreads) {
    throw invalid_argument("ThreadPool", "the number of threads must lie in [1, 4096]", {{"threads", threads}});
  }
  State& state = *state_;
  Slot* const end = state.slots + (inside_block ? 0 : kSlots);
  Slot* const busy = std::find_if_not(state.slots, end, [](Slot& slot) { return slot.take(); });
  const bool free = busy == state.slots + kSlots;
  if (free && threads != state.count.load(std::memory_order_relaxed) + 1) {
    state.finish();
    state.start(threads - 1);
  }
  std::for_each(state.slots, busy, [](Slot& slot) { slot.give_back(); });
  if (!free) {
    throw failed_precondition("ThreadPool", "the number of threads can change only while no work is running",
                              {{"threads", threads}});
  }
}

void ThreadPool::run_blocks(std::int64_t blocks, FunctionRef<void(std::int64_t)> body) {
  ComputeThread::join();
  const FlushDenormals flush;
  State& state = *state_;
  const auto helpers = static_cast<int>(std::min<std::int64_t>(blocks, threads()) - 1);
  Slot* slot = helpers > 0 ? state.take_slot() : nullptr;
  if (!slot) return run_here(blocks, body);
  slot->body = &body;
  slot->share = share;
  slot->cut(blocks, helpers + 1);
  const bool nested = std::exchange(inside_block, true);
  slot->open(static_cast<std::uint32_t>(helpers), nested);
  state.wake_workers(helpers);
  int part = own_part % slot->parts;
  while (slot->run_block(part)) {
  }
  inside_block = nested;
  slot->wait_for_helpers();
  state.wake_for_others();  // there is a core more for them
  const std::exception_ptr error = slot->error.take();
  slot->give_back();
  if (error) std::rethrow_exception(error);
}

ThreadShare::ThreadShare(int threads) : before_(share) {
  if (threads < 0) {
    throw invalid_argument("ThreadShare", "the number of threads must not be negative", {{"threads", threads}});
  }
  if (threads > 0) share = std::min(share, threads);
}

ThreadShare::~ThreadShare() { share = before_; }

}  // namespace cohort
