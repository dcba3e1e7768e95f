#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/core/device_stream.h"
#include "cohort/core/random.h"
#include "cohort/core/shape.h"
#include "cohort/core/thread_pool.h"
#include "cohort/core/thread_scope.h"

namespace cohort {

struct DeviceMemory;

// What memory is for, as text that is composed when somebody asks: "tensor float32 (1024, 768)".
using MemoryUse = FunctionRef<std::string()>;

// Hands memory for an output whose shape only the kernel knows (where, unique, ...).
class OutputAllocator {
 public:
  virtual ~OutputAllocator() = default;
  // Memory for output number `output`, now that its shape is known.
  virtual void* allocate(int output, const Shape& shape) = 0;
};

// What a kernel gets when it runs: pointers, in the order of the op's inputs and outputs, and the step it belongs to.
// A String input or output points to std::string elements; a Resource input points to what Resource::kernel_pointer
// says.
struct KernelIO {
  // Pointers to the inputs' elements.
  void* const* inputs = nullptr;
  // Pointers to the outputs' elements.
  void* const* outputs = nullptr;
  // Where in the run random numbers are drawn; in memory that the device's kernels read.
  const RandomState* random = nullptr;
  // For ops with dynamic outputs.
  OutputAllocator* allocator = nullptr;
  // Where the kernel puts its work, by the device's own handle; null where a kernel works itself.
  void* stream = nullptr;

  // Input i as elements of a C++ type.
  template <class T>
  const T* in(int i) const {
    return static_cast<const T*>(inputs[i]);
  }
  // Output i as elements of a C++ type.
  template <class T>
  T* out(int i) const {
    return static_cast<T*>(outputs[i]);
  }
};

class KernelSubject;

// A kernel specialised for an op's attributes and concrete shapes: made once, run many times, from any thread.
using KernelFn = std::function<void(const KernelIO&)>;

// One kernel launch: arguments are the inputs' pointers followed by the outputs'.
struct KernelCall {
  // What is run.
  const KernelFn* kernel = nullptr;
  // The inputs' pointers, then the outputs'.
  void** arguments = nullptr;
  // Number of inputs.
  int inputs = 0;
  // Number of outputs.
  int outputs = 0;
  const std::string* node = nullptr;       // its name in the graph, for errors
  const KernelSubject* subject = nullptr;  // what it computes, for those who take times; read before run() returns
};
// For the handler of a launch's exceptions: throws the present one again, with the name of the node in front of an
// Error's text.
[[noreturn]] void rethrow_named(const KernelCall& call);

// Where a loop in a recording stands, in the device's memory: its condition writes `go_on`, the device the rest.
struct LoopState {
  // Where the turn draws random numbers.
  RandomState draws;
  // How many have begun.
  std::uint64_t turns;
  // Whether there is another one.
  bool go_on;
};

// A loop for Device::record_loop.
struct RecordedLoop {
  // Its place, for as long as the recording is there.
  LoopState* state = nullptr;
  // Where the loop draws random numbers, whose turns find theirs (turn_of) in state->draws; in the device's memory.
  const RandomState* random = nullptr;
  // Most turns; below 0: as many as the condition wants.
  std::int64_t limit = -1;
  // Put the work into the compute stream that writes state->go_on, and that of a turn. They are called while the loop
  // is recorded, perhaps more than once.
  std::function<void()> condition, turn;
};

// A place with memory and kernels. Work on it may only be begun when a function here returns; whatever is begun later
// finds it done. What goes wrong in such work is thrown by the next synchronize() or copy_to_host(). Thread-safe.
class Device {
 public:
  Device(std::string type, int index) : type_(std::move(type)), index_(index) {}
  virtual ~Device() = default;
  Device(const Device&) = delete;

  // "CPU"
  const std::string& type() const { return type_; }
  // Number among the devices of its type.
  int index() const { return index_; }
  // "CPU:0"
  std::string name() const { return type_ + ":" + std::to_string(index_); }
  // Whose kernels run here: the TEST device borrows the CPU's.
  virtual std::string_view kernel_type() const { return type_; }
  // Whether the host can read its memory directly.
  virtual bool host_readable() const = 0;

  // Memory aligned to kAlignment, from the device's pool.
  static constexpr std::size_t kAlignment = 64;
  // Memory of that many bytes, aligned to kAlignment.
  virtual void* allocate(std::size_t bytes) = 0;
  // Gives memory back to the pool; work begun before may still use it.
  virtual void deallocate(void* memory, std::size_t bytes) = 0;
  // Host memory that the device copies from and to by itself.
  virtual void* allocate_pinned(std::size_t bytes);
  // Gives such memory back, which no copy uses any more.
  virtual void deallocate_pinned(void* memory, std::size_t bytes);

  // Copies bytes from the host to the device; the source may change when it returns.
  virtual void copy_from_host(void* target, const void* source, std::size_t bytes) = 0;
  // Copies bytes from the device to the host: waits for all work of the compute stream.
  virtual void copy_to_host(void* target, const void* source, std::size_t bytes) = 0;
  // Copies bytes from one place of the device to another that does not overlap it.
  virtual void copy(void* target, const void* source, std::size_t bytes) = 0;
  // Writes an element of 1, 2, 4 or 8 bytes `count` times.
  virtual void fill(void* target, const void* element, std::size_t element_bytes, std::size_t count) = 0;
  // Begins a copy between the device and pinned host memory; neither side may change until it is done.
  virtual void enqueue_copy(void* target, const void* source, std::size_t bytes, DeviceStream stream) = 0;

  // Runs the calls one after the other. Their arguments are read before it returns; kernels must live until the work is
  // done, and `random`, in memory that the kernels read, may then change. With an allocator it waits.
  virtual void run(std::span<const KernelCall> calls, const RandomState* random, OutputAllocator* allocator) = 0;
  // Writes where each of `count` turns of a loop draws random numbers (turn_of), given where the loop does; both in
  // memory that the kernels read.
  virtual void derive_turns(RandomState* turns, const RandomState* loop, std::size_t count);
  // A point of this device's work.
  virtual std::unique_ptr<DeviceEvent> make_event() = 0;
  // Whether it keeps work to begin it again.
  virtual bool can_record() const { return false; }
  // What `work`, on the calling thread, puts into the compute stream is kept instead of done. It may run kernels, copy
  // within the device and fill, nothing else.
  virtual std::unique_ptr<Recording> record(const std::function<void()>& work);
  // Whether that is done with what the calling thread puts there now.
  virtual bool is_recording() const { return false; }
  // Inside of record(): keeps what `yes` and `no` put there; a launch does the first if the bool at `predicate`, in the
  // device's memory, is then true, else the second.
  virtual void record_branch(const bool* predicate, const std::function<void()>& yes, const std::function<void()>& no);
  // Inside of record(): keeps a loop, whose end a launch finds by itself.
  virtual void record_loop(const RecordedLoop& loop);
  // Waits until all work begun on it is done, and throws what went wrong in it.
  void synchronize() {
    drain();
    check();
  }
  // Waits until all work begun on it is done; what went wrong is kept.
  virtual void drain() noexcept {}
  // Waits until all work on the hardware is done, that of other libraries too: for memory that they share.
  virtual void drain_all() noexcept { drain(); }
  // Throws what went wrong in work that is done, once.
  virtual void check() {}

  // How much of its memory is in use: see device_memory().
  virtual DeviceMemory memory();
  // Counts the most that is in use anew.
  virtual void reset_peak_memory() {}
  // Sets how much may be in use at most, 0: as much as there is; throws Unimplemented where nothing is counted.
  virtual void limit_memory(std::size_t bytes);
  // Says what memory from allocate() is for, for errors; without effect where nothing is counted.
  virtual void note_use(void* memory, std::size_t bytes, MemoryUse use);

 private:
  std::string type_;
  int index_;
};

// Device types register a maker; devices are made on first use and live as long as the process.
using DeviceMaker = std::unique_ptr<Device> (*)(int index);
// Makes a type of device known; true, so that it can initialize a static variable.
bool register_device_type(const std::string& type, DeviceMaker maker);
// The device of this name: "CPU:0", "cpu", "TEST:0"; throws for an unknown type.
Device& device_named(std::string_view name);
// The CPU.
Device& cpu();
// Where tensors and variables are made unless a scope says otherwise. Chosen when it is first asked for: the one that
// the environment variable COHORT_DEVICE names, else GPU:0 where there is a GPU that can be used, else CPU:0.
Device& default_device();
// While one lives, the default device of its thread is this one, unless a device scope names another. It leaves no mark
// in graphs that are traced meanwhile.
using DefaultDeviceScope = ThreadScope<Device, Device*>;
// Sets the default device by its name; what was made before stays where it is.
void set_default_device(std::string_view name);

}  // namespace cohort
