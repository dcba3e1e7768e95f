#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "cohort/core/allocator.h"
#include "cohort/core/denormals.h"
#include "cohort/core/device.h"
#include "cohort/core/device_memory.h"
#include "cohort/core/fill_memory.h"
#include "cohort/core/kernel_work.h"
#include "cohort/core/large_blocks.h"

namespace cohort {
namespace {

// Large blocks are mapped by themselves: a heap keeps what it got as long as something lies behind it.
void* aligned_source(std::size_t bytes) {
  if (bytes >= MemoryPool::kLarge) {
    LargeBlocks* const blocks = LargeBlocks::source();
    if (void* const block = blocks ? blocks->take(bytes) : nullptr) return block;
    void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    return mapped;
  }
  void* memory = std::aligned_alloc(Device::kAlignment,
                                    (bytes + Device::kAlignment - 1) / Device::kAlignment * Device::kAlignment);
  if (!memory) throw std::bad_alloc();
  return memory;
}

void unmap_large(void* memory, std::size_t bytes) {
  LargeBlocks* const blocks = LargeBlocks::source();
  if (blocks && blocks->give_back(memory, bytes)) return;
  ::munmap(memory, bytes);
}

// All work is done when the function that begins it returns.
class PastEvent : public DeviceEvent {
 public:
  void record(DeviceStream) override {}
  void delay(DeviceStream) override {}
  void wait() override {}
};

void run_timed(const KernelCall& call, const KernelIO& io, Timeline& timeline) {
  Timeline::Span span = kernel_span(call);
  span.begin = Timeline::Clock::now();
  (*call.kernel)(io);
  span.end = Timeline::Clock::now();
  timeline.add(std::move(span));
}

// The host: kernels run on the calling thread and spread over the compute pool themselves.
class CpuDevice : public Device {
 public:
  explicit CpuDevice(int index) : Device("CPU", index), pool_(aligned_source, unmap_large) {}

  bool host_readable() const override { return true; }
  void* allocate(std::size_t bytes) override { return pool_.allocate(bytes); }
  void deallocate(void* memory, std::size_t bytes) override { pool_.deallocate(memory, bytes); }
  void copy_from_host(void* target, const void* source, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(target, source, bytes);
  }
  void copy_to_host(void* target, const void* source, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(target, source, bytes);
  }
  void copy(void* target, const void* source, std::size_t bytes) override { copy_from_host(target, source, bytes); }
  void fill(void* target, const void* element, std::size_t element_bytes, std::size_t count) override {
    fill_memory(target, element, element_bytes, count);
  }
  void enqueue_copy(void* target, const void* source, std::size_t bytes, DeviceStream) override {
    copy_from_host(target, source, bytes);
  }
  std::unique_ptr<DeviceEvent> make_event() override { return std::make_unique<PastEvent>(); }
  // The most is not counted: that would cost every allocation.
  DeviceMemory memory() override { return {.current = pool_.bytes_in_use()}; }
  void run(std::span<const KernelCall> calls, const RandomState* random, OutputAllocator* allocator) override {
    const FlushDenormals flush;
    const KernelCall* call = calls.data();
    Timeline* const timeline = Timeline::current();
    try {
      for (; call != calls.data() + calls.size(); ++call) {
        const KernelIO io{call->arguments, call->arguments + call->inputs, random, allocator};
        timeline ? run_timed(*call, io, *timeline) : (*call->kernel)(io);
      }
    } catch (...) {
      rethrow_named(*call);
    }
  }

 private:
  MemoryPool pool_;
};

[[maybe_unused]] const bool cpu_device_registered = register_device_type(
    "CPU", [](int index) -> std::unique_ptr<Device> { return std::make_unique<CpuDevice>(index); });

}  // namespace
}  // namespace cohort
