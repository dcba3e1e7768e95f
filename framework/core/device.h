#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/core/random.h"
#include "cohort/core/shape.h"

namespace cohort {

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
  // Where in the run random numbers are drawn.
  const RandomState* random = nullptr;
  // For ops with dynamic outputs.
  OutputAllocator* allocator = nullptr;

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
  const std::string* node = nullptr;  // its name in the graph, for errors
};
// For the handler of a launch's exceptions: throws the present one again, with the name of the node in front of an
// Error's text.
[[noreturn]] void rethrow_named(const KernelCall& call);

// A place with memory and kernels. Thread-safe.
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
  // Gives memory back to the pool.
  virtual void deallocate(void* memory, std::size_t bytes) = 0;
  // Copies bytes from the host to the device.
  virtual void copy_from_host(void* target, const void* source, std::size_t bytes) = 0;
  // Copies bytes from the device to the host.
  virtual void copy_to_host(void* target, const void* source, std::size_t bytes) = 0;
  // Runs the calls one after the other; rethrows what a kernel throws.
  virtual void run(std::span<const KernelCall> calls, const RandomState& random, OutputAllocator* allocator) = 0;
  // Waits until all work begun on it is done.
  virtual void synchronize() {}

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
// Where tensors and variables are made unless a scope says otherwise: CPU:0 at start.
Device& default_device();
// Sets the default device by its name.
void set_default_device(std::string_view name);

}  // namespace cohort
