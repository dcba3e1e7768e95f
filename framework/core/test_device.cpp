#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "cohort/core/denormals.h"
#include "cohort/core/device.h"

namespace cohort {
namespace {

// Lies outside every address the host can read on x86-64 and AArch64 (whose loads ignore only the top byte).
constexpr std::uintptr_t kForeign = std::uintptr_t{1} << 52;

void* to_foreign(void* memory) { return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(memory) | kForeign); }
void* to_native(const void* memory) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(memory) & ~kForeign);
}

// A device for tests: its pointers fault when the host follows them, and its kernels (the CPU's) run on a thread of its
// own. It shows code that takes the CPU for granted, without a GPU.
class TestDevice : public Device {
 public:
  explicit TestDevice(int index) : Device("TEST", index), thread_([this] { work(); }) { thread_.detach(); }

  std::string_view kernel_type() const override { return "CPU"; }
  bool host_readable() const override { return false; }
  void* allocate(std::size_t bytes) override { return to_foreign(cpu().allocate(bytes)); }
  void deallocate(void* memory, std::size_t bytes) override { cpu().deallocate(to_native(memory), bytes); }
  void copy_from_host(void* target, const void* source, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(to_native(target), source, bytes);
  }
  void copy_to_host(void* target, const void* source, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(target, to_native(source), bytes);
  }

  void run(std::span<const KernelCall> calls, const RandomState& random, OutputAllocator* allocator) override {
    if (std::this_thread::get_id() == worker_id_) return execute(calls, random, allocator);  // a kernel's own sub-graph
    std::lock_guard turn(callers_);
    Job job{calls, &random, allocator, nullptr, false};
    std::unique_lock lock(mutex_);
    job_ = &job;
    changed_.notify_all();
    changed_.wait(lock, [&] { return job.done; });
    if (job.error) std::rethrow_exception(job.error);
  }

 private:
  struct Job {
    std::span<const KernelCall> calls;
    const RandomState* random;
    OutputAllocator* allocator;
    std::exception_ptr error;
    bool done;
  };

  // Kernels allocate from the device too: they must see memory they can write.
  class NativeAllocator : public OutputAllocator {
   public:
    explicit NativeAllocator(OutputAllocator* inner) : inner_(inner) {}
    void* allocate(int output, const Shape& shape) override { return to_native(inner_->allocate(output, shape)); }

   private:
    OutputAllocator* inner_;
  };

  static void execute(std::span<const KernelCall> calls, const RandomState& random, OutputAllocator* allocator) {
    NativeAllocator native(allocator);
    thread_local std::vector<void*> kept;                    // a steady state allocates nothing here either
    std::vector<void*> arguments = std::exchange(kept, {});  // taken: a kernel may run a graph of its own
    for (const KernelCall& call : calls) {
      arguments.assign(call.arguments, call.arguments + call.inputs + call.outputs);
      for (void*& argument : arguments) argument = to_native(argument);
      try {
        (*call.kernel)({arguments.data(), arguments.data() + call.inputs, &random, allocator ? &native : nullptr});
      } catch (...) {
        rethrow_named(call);
      }
    }
    kept = std::move(arguments);
  }

  void work() {
    const FlushDenormals flush;
    std::unique_lock lock(mutex_);
    worker_id_ = std::this_thread::get_id();
    for (;;) {
      changed_.wait(lock, [&] { return job_ != nullptr; });
      Job& job = *job_;
      job_ = nullptr;
      lock.unlock();
      try {
        execute(job.calls, *job.random, job.allocator);
      } catch (...) {
        job.error = std::current_exception();
      }
      lock.lock();
      job.done = true;
      changed_.notify_all();
    }
  }

  std::mutex callers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Job* job_ = nullptr;
  std::atomic<std::thread::id> worker_id_{};
  std::thread thread_;
};

[[maybe_unused]] const bool test_device_registered = register_device_type(
    "TEST", [](int index) -> std::unique_ptr<Device> { return std::make_unique<TestDevice>(index); });

}  // namespace
}  // namespace cohort
