#include "tests/support/stream_device.h"

#include <vector>

#include "cohort/core/kernel.h"
#include "cohort/graph/control_flow_kernels.h"

namespace cohort::test {
namespace {

constexpr char kStream[] = "STREAM";

// All but how kernels are called is TEST's.
class StreamDevice : public Device {
 public:
  explicit StreamDevice(int index) : Device(kStream, index), behind_(device_named("TEST:" + std::to_string(index))) {}

  Device& behind() const { return behind_; }

  bool host_readable() const override { return false; }
  void* allocate(std::size_t bytes) override {
    if (is_recording()) throw internal_error("StreamDevice", "memory is asked for before work is recorded");
    return behind_.allocate(bytes);
  }
  void deallocate(void* memory, std::size_t bytes) override { behind_.deallocate(memory, bytes); }
  void copy_from_host(void* target, const void* source, std::size_t bytes) override {
    behind_.copy_from_host(target, source, bytes);
  }
  void copy_to_host(void* target, const void* source, std::size_t bytes) override {
    behind_.copy_to_host(target, source, bytes);
  }
  void copy(void* target, const void* source, std::size_t bytes) override { behind_.copy(target, source, bytes); }
  void fill(void* target, const void* element, std::size_t element_bytes, std::size_t count) override {
    behind_.fill(target, element, element_bytes, count);
  }
  void enqueue_copy(void* target, const void* source, std::size_t bytes, DeviceStream stream) override {
    behind_.enqueue_copy(target, source, bytes, stream);
  }
  void run(std::span<const KernelCall> calls, const RandomState* random, OutputAllocator* allocator) override {
    const KernelCall* call = calls.data();
    try {
      for (; call != calls.data() + calls.size(); ++call) {
        (*call->kernel)({call->arguments, call->arguments + call->inputs, random, allocator, &behind_});
      }
    } catch (...) {
      rethrow_named(*call);
    }
  }
  void derive_turns(RandomState* turns, const RandomState* loop, std::size_t count) override {
    behind_.derive_turns(turns, loop, count);
  }
  std::unique_ptr<DeviceEvent> make_event() override { return behind_.make_event(); }
  bool can_record() const override { return true; }
  std::unique_ptr<Recording> record(const std::function<void()>& work) override { return behind_.record(work); }
  bool is_recording() const override { return behind_.is_recording(); }
  void record_branch(const bool* predicate, const std::function<void()>& yes,
                     const std::function<void()>& no) override {
    behind_.record_branch(predicate, yes, no);
  }
  void record_loop(const RecordedLoop& loop) override { behind_.record_loop(loop); }
  void drain() noexcept override { behind_.drain(); }
  void check() override { behind_.check(); }

 private:
  Device& behind_;
};

KernelFn make_enqueued(const KernelSpec& spec) {
  auto kernel = std::make_shared<KernelFn>(make_kernel(KernelSpec(spec.call(), spec.outputs(), cpu(), spec.node())));
  const int inputs = spec.num_inputs(), outputs = spec.num_outputs();
  return [=](const KernelIO& io) {
    std::vector<void*> arguments(io.inputs, io.inputs + inputs);
    arguments.insert(arguments.end(), io.outputs, io.outputs + outputs);
    const KernelCall call{kernel.get(), arguments.data(), inputs, outputs};
    static_cast<Device*>(io.stream)->run({&call, 1}, io.random, io.allocator);
  };
}

}  // namespace

void register_stream_device() {
  static const bool registered = [] {
    register_control_flow(kStream);
    for (const OpDef* op : all_ops()) {
      if (has_kernel(op->name(), kCPU)) register_kernel(op->name(), kStream, make_enqueued);  // keeps what is there
    }
    return register_device_type(
        kStream, [](int index) -> std::unique_ptr<Device> { return std::make_unique<StreamDevice>(index); });
  }();
  (void)registered;
}

}  // namespace cohort::test
