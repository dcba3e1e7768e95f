#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "cohort/core/denormals.h"
#include "cohort/core/device.h"
#include "cohort/core/error.h"
#include "cohort/core/fill_memory.h"
#include "cohort/core/kernel_work.h"

namespace cohort {
namespace {

// Lies outside every address the host can read on x86-64 and AArch64 (whose loads ignore only the top byte).
constexpr std::uintptr_t kForeign = std::uintptr_t{1} << 52;
// What freed memory is filled with: as floats, NaN.
constexpr int kPoison = 0xFF;
// Work that may wait in a stream; whoever adds more waits.
constexpr std::size_t kLongestQueue = 64;

void* to_foreign(void* memory) { return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(memory) | kForeign); }
void* to_native(const void* memory) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(memory) & ~kForeign);
}

// Kernels allocate from the device too: they must see memory they can write.
class NativeAllocator : public OutputAllocator {
 public:
  explicit NativeAllocator(OutputAllocator* inner) : inner_(inner) {}
  void* allocate(int output, const Shape& shape) override { return to_native(inner_->allocate(output, shape)); }

 private:
  OutputAllocator* inner_;
};

// Where the times of work go, with a span for each call or for a copy that lacks nothing else. Without a lane nobody
// takes times.
struct Timing {
  std::shared_ptr<TimelineLane> lane;
  std::vector<Timeline::Span> spans;

  template <class Work>
  void run(std::size_t i, const Work& work) {
    if (!lane) return work();
    Timeline::Span& span = spans[i];
    span.begin = Timeline::Clock::now();
    work();
    span.end = Timeline::Clock::now();
    lane->add(std::move(span));
  }
};

void run_calls(std::span<const KernelCall> calls, const RandomState* random, OutputAllocator* allocator,
               Timing& timing) {
  NativeAllocator native(allocator);
  random = static_cast<const RandomState*>(to_native(random));
  thread_local std::vector<void*> kept;                    // a steady state allocates nothing here either
  std::vector<void*> arguments = std::exchange(kept, {});  // taken: a kernel may run a graph of its own
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const KernelCall& call = calls[i];
    arguments.assign(call.arguments, call.arguments + call.inputs + call.outputs);
    for (void*& argument : arguments) argument = to_native(argument);
    try {
      timing.run(i, [&] {
        (*call.kernel)({arguments.data(), arguments.data() + call.inputs, random, allocator ? &native : nullptr});
      });
    } catch (...) {
      rethrow_named(call);
    }
  }
  kept = std::move(arguments);
}

// How far a stream has come, as far as one event is concerned.
struct EventState {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t recorded = 0, reached = 0;  // times

  void reach(std::uint64_t time) {
    std::lock_guard lock(mutex);
    reached = std::max(reached, time);
    changed.notify_all();
  }
  void wait_for(std::uint64_t time) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return reached >= time; });
  }
};

struct RecordedTasks;

// A piece of work in a stream. Tasks are used again and again, with the memory that they hold.
struct Task {
  void (*work)(Task& task) = nullptr;
  Task* next = nullptr;
  // Of kernels.
  std::vector<KernelCall> calls;
  std::vector<void*> arguments;
  const RandomState* random = nullptr;
  OutputAllocator* allocator = nullptr;
  Timing timing;
  // Of copies and fills; a copy from pageable memory has the bytes with it.
  void* target = nullptr;
  const void* source = nullptr;
  std::size_t bytes = 0;
  std::vector<char> held;
  std::uint64_t element = 0;
  // Of events, recordings, branches and loops.
  std::shared_ptr<EventState> event;
  std::uint64_t time = 0;
  std::shared_ptr<RecordedTasks> recorded, otherwise;
  std::int64_t limit = 0;
};

struct RecordedTasks {
  std::vector<std::unique_ptr<Task>> tasks;
  void work() const {
    for (const auto& task : tasks) task->work(*task);
  }
};

// A stream: a thread that does what is put into it in order. What goes wrong is kept, and the rest is done all the
// same, as on a GPU.
class Lane {
 public:
  Lane() {
    // All that can be under way, so that tests which count what a steady state allocates count none of these.
    for (std::size_t i = 0; i < kLongestQueue + 1; ++i) add_task();
    std::thread([this] { work(); }).detach();
  }

  // Another one, with room for small graphs.
  void add_task() {
    auto task = std::make_unique<Task>();
    task->calls.reserve(128);
    task->arguments.reserve(1024);
    task->held.reserve(4096);
    std::lock_guard lock(mutex_);
    unused_.push_back(std::move(task));
  }

  bool is_own_thread() const { return std::this_thread::get_id() == thread_id_; }

  Task* make_task(void (*work)(Task&)) {
    Task* task = nullptr;
    {
      std::lock_guard lock(mutex_);
      if (!unused_.empty()) {
        task = unused_.back().release();
        unused_.pop_back();
      }
    }
    if (!task) task = new Task;
    task->work = work;
    return task;
  }

  void put(Task* task) {
    std::unique_lock lock(mutex_);
    if (!is_own_thread()) changed_.wait(lock, [&] { return length_ < kLongestQueue; });
    task->next = nullptr;
    (last_ ? last_->next : first_) = task;
    last_ = task;
    ++length_;
    changed_.notify_all();
  }

  void drain() noexcept {
    if (is_own_thread()) return;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return length_ == 0; });
  }

  void check() {
    std::exception_ptr error;
    {
      std::lock_guard lock(mutex_);
      error = std::exchange(error_, nullptr);
    }
    if (error) std::rethrow_exception(error);
  }

 private:
  void work() {
    const FlushDenormals flush;
    std::unique_lock lock(mutex_);
    thread_id_ = std::this_thread::get_id();
    for (;;) {
      changed_.wait(lock, [&] { return first_ != nullptr; });
      std::unique_ptr<Task> task(first_);
      first_ = task->next;
      if (!first_) last_ = nullptr;
      lock.unlock();
      std::exception_ptr error;
      try {
        task->work(*task);
      } catch (...) {
        error = std::current_exception();
      }
      task->event.reset();
      task->recorded.reset();
      task->timing.lane.reset();
      lock.lock();
      if (error && !error_) error_ = error;
      unused_.push_back(std::move(task));
      --length_;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Task *first_ = nullptr, *last_ = nullptr;
  std::size_t length_ = 0;  // what is being done included
  std::vector<std::unique_ptr<Task>> unused_;
  std::exception_ptr error_;
  std::atomic<std::thread::id> thread_id_{};
};

struct Lanes {
  Lane compute, copy;
  Lane& of(DeviceStream stream) { return stream == DeviceStream::Compute ? compute : copy; }
};

// The recording that the calling thread makes.
thread_local RecordedTasks* recording = nullptr;

void put_compute(Lanes& lanes, Task* task) {
  if (recording) {
    recording->tasks.emplace_back(task);
    lanes.compute.add_task();  // in its place
  } else {
    lanes.compute.put(task);
  }
}

// What the function puts into the compute stream.
std::shared_ptr<RecordedTasks> kept_tasks(const std::function<void()>& work) {
  auto tasks = std::make_shared<RecordedTasks>();
  struct Scope {
    RecordedTasks* outer;
    ~Scope() { recording = outer; }
  } scope{std::exchange(recording, tasks.get())};
  work();
  return tasks;
}

void expect_recording(const char* what) {
  if (!recording) throw internal_error("TestDevice", "it is kept inside of a recording only", {{"work", what}});
}

void work_on_loop(Task& task) {
  auto& state = *static_cast<LoopState*>(to_native(task.target));
  const auto* random = static_cast<const RandomState*>(to_native(task.random));
  const auto limit = static_cast<std::uint64_t>(task.limit);  // none: more than there are
  for (state.turns = 0; state.turns < limit;) {
    task.otherwise->work();
    if (!state.go_on) return;
    if (random) state.draws = turn_of(*random, state.turns);
    ++state.turns;
    task.recorded->work();
  }
}

void refuse_while_recording(const char* what) {
  if (recording)
    throw internal_error("TestDevice", "only kernels, fills and copies within the device are recorded",
                         {{"work", what}});
}

class TestEvent : public DeviceEvent {
 public:
  explicit TestEvent(Lanes& lanes) : lanes_(lanes) {}
  void record(DeviceStream stream) override {
    refuse_while_recording("event");
    Task* task = lanes_.of(stream).make_task([](Task& t) { t.event->reach(t.time); });
    task->event = state_;
    task->time = ++time_;
    lanes_.of(stream).put(task);
  }
  void delay(DeviceStream stream) override {
    refuse_while_recording("wait for an event");
    Task* task = lanes_.of(stream).make_task([](Task& t) { t.event->wait_for(t.time); });
    task->event = state_;
    task->time = time_;
    lanes_.of(stream).put(task);
  }
  void wait() override { state_->wait_for(time_); }

 private:
  Lanes& lanes_;
  std::shared_ptr<EventState> state_ = std::make_shared<EventState>();
  std::uint64_t time_ = 0;
};

class TestRecording : public Recording {
 public:
  TestRecording(Lanes& lanes, std::shared_ptr<RecordedTasks> tasks) : lanes_(lanes), tasks_(std::move(tasks)) {}
  void launch() override {
    Task* task = lanes_.compute.make_task([](Task& t) { t.recorded->work(); });
    task->recorded = tasks_;
    put_compute(lanes_, task);
  }

 private:
  Lanes& lanes_;
  std::shared_ptr<RecordedTasks> tasks_;
};

// A device for tests: its pointers fault when the host follows them, its kernels (the CPU's) and its copies run on two
// threads of its own after the call that began them has returned, and memory is poisoned when the last work that may
// use it is done. It shows code that takes the CPU for granted, and code that does not wait, without a GPU.
class TestDevice : public Device {
 public:
  explicit TestDevice(int index) : Device("TEST", index) {}

  std::string_view kernel_type() const override { return "CPU"; }
  bool host_readable() const override { return false; }

  void* allocate(std::size_t bytes) override { return to_foreign(cpu().allocate(bytes)); }
  void deallocate(void* memory, std::size_t bytes) override {
    Task* task = lanes_.compute.make_task([](Task& t) {
      std::memset(to_native(t.target), kPoison, t.bytes);
      cpu().deallocate(to_native(t.target), t.bytes);
    });
    task->target = memory;
    task->bytes = bytes;
    lanes_.compute.put(task);
  }

  // At once: no copy uses it any more.
  void deallocate_pinned(void* memory, std::size_t bytes) override {
    std::memset(memory, kPoison, bytes);
    Device::deallocate_pinned(memory, bytes);
  }

  void copy_from_host(void* target, const void* source, std::size_t bytes) override {
    if (bytes == 0) return;
    if (lanes_.compute.is_own_thread()) {
      std::memcpy(to_native(target), source, bytes);
      return;
    }
    refuse_while_recording("copy from the host");
    Task* task = lanes_.compute.make_task([](Task& t) { std::memcpy(to_native(t.target), t.held.data(), t.bytes); });
    task->held.assign(static_cast<const char*>(source), static_cast<const char*>(source) + bytes);
    task->target = target;
    task->bytes = bytes;
    lanes_.compute.put(task);
  }
  void copy_to_host(void* target, const void* source, std::size_t bytes) override {
    refuse_while_recording("copy to the host");
    lanes_.compute.drain();
    lanes_.compute.check();
    if (bytes > 0) std::memcpy(target, to_native(source), bytes);
  }
  void copy(void* target, const void* source, std::size_t bytes) override {
    put_compute(lanes_, copy_task(lanes_.compute, target, source, bytes));
  }
  void enqueue_copy(void* target, const void* source, std::size_t bytes, DeviceStream stream) override {
    refuse_while_recording("copy between host and device");
    Lane& lane = lanes_.of(stream);
    Task* task = copy_task(lane, target, source, bytes);
    if (time_in(stream, *task)) task->timing.spans.assign(1, copy_span(bytes));
    lane.put(task);
  }
  void fill(void* target, const void* element, std::size_t element_bytes, std::size_t count) override {
    Task* task =
        lanes_.compute.make_task([](Task& t) { fill_memory(to_native(t.target), &t.element, t.bytes, t.time); });
    task->target = target;
    std::memcpy(&task->element, element, element_bytes);
    task->bytes = element_bytes;
    task->time = count;
    put_compute(lanes_, task);
  }

  void run(std::span<const KernelCall> calls, const RandomState* random, OutputAllocator* allocator) override {
    if (lanes_.compute.is_own_thread()) {  // a kernel's own sub-graph
      Timing untimed;
      return run_calls(calls, random, allocator, untimed);
    }
    Task* task = lanes_.compute.make_task([](Task& t) { run_calls(t.calls, t.random, t.allocator, t.timing); });
    task->calls.assign(calls.begin(), calls.end());
    task->arguments.clear();
    for (const KernelCall& call : calls) {
      task->arguments.insert(task->arguments.end(), call.arguments, call.arguments + call.inputs + call.outputs);
    }
    void** arguments = task->arguments.data();
    for (KernelCall& call : task->calls) {
      call.arguments = arguments;
      arguments += call.inputs + call.outputs;
    }
    task->random = random;
    task->allocator = allocator;
    if (!recording && time_in(DeviceStream::Compute, *task)) {
      task->timing.spans.clear();
      for (const KernelCall& call : calls) task->timing.spans.push_back(kernel_span(call));
      count_memory(*this, *task->timing.lane);
    }
    if (allocator) refuse_while_recording("op whose shapes depend on values");
    put_compute(lanes_, task);
    if (allocator) synchronize();
  }

  void derive_turns(RandomState* turns, const RandomState* loop, std::size_t count) override {
    Task* task = lanes_.compute.make_task([](Task& t) {
      cpu().derive_turns(static_cast<RandomState*>(to_native(t.target)),
                         static_cast<const RandomState*>(to_native(t.random)), t.bytes);
    });
    task->target = turns;
    task->random = loop;
    task->bytes = count;
    put_compute(lanes_, task);
  }

  std::unique_ptr<DeviceEvent> make_event() override { return std::make_unique<TestEvent>(lanes_); }
  bool can_record() const override { return true; }
  std::unique_ptr<Recording> record(const std::function<void()>& work) override {
    return std::make_unique<TestRecording>(lanes_, kept_tasks(work));
  }
  bool is_recording() const override { return recording != nullptr; }
  void record_branch(const bool* predicate, const std::function<void()>& yes,
                     const std::function<void()>& no) override {
    expect_recording("branch");
    auto if_true = kept_tasks(yes), if_false = kept_tasks(no);
    Task* task = lanes_.compute.make_task(
        [](Task& t) { (*static_cast<const bool*>(to_native(t.source)) ? t.recorded : t.otherwise)->work(); });
    task->source = predicate;
    task->recorded = std::move(if_true);
    task->otherwise = std::move(if_false);
    put_compute(lanes_, task);
  }
  void record_loop(const RecordedLoop& loop) override {
    expect_recording("loop");
    auto condition = kept_tasks(loop.condition), turn = kept_tasks(loop.turn);
    Task* task = lanes_.compute.make_task(work_on_loop);
    task->target = loop.state;
    task->random = loop.random;
    task->limit = loop.limit;
    task->recorded = std::move(turn);
    task->otherwise = std::move(condition);
    put_compute(lanes_, task);
  }
  void drain() noexcept override {
    lanes_.compute.drain();
    lanes_.copy.drain();
  }
  void check() override {
    lanes_.compute.check();
    lanes_.copy.check();
  }

 private:
  // Whether the calling thread wants the times of what it puts into this stream.
  bool time_in(DeviceStream stream, Task& task) {
    Timeline* timeline = Timeline::current();
    if (!timeline) return false;
    task.timing.lane = timeline->lane(name() + (stream == DeviceStream::Compute ? " compute" : " copies"),
                                      [&lane = lanes_.of(stream)] { lane.drain(); });
    return true;
  }

  static Task* copy_task(Lane& lane, void* target, const void* source, std::size_t bytes) {
    Task* task = lane.make_task([](Task& t) {
      if (t.bytes == 0) return;
      t.timing.run(0, [&] { std::memcpy(to_native(t.target), to_native(t.source), t.bytes); });
    });
    task->target = target;
    task->source = source;
    task->bytes = bytes;
    return task;
  }

  Lanes& lanes_ = *new Lanes;  // never destroyed: their threads do not end
};

[[maybe_unused]] const bool test_device_registered = register_device_type(
    "TEST", [](int index) -> std::unique_ptr<Device> { return std::make_unique<TestDevice>(index); });

}  // namespace
}  // namespace cohort
