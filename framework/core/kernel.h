#pragma once

#include <span>
#include <string_view>

#include "cohort/core/device.h"
#include "cohort/core/op.h"

namespace cohort {

// Device type of the CPU's kernels.
inline constexpr std::string_view kCPU = "CPU";
// Device type of a GPU's kernels.
inline constexpr std::string_view kGPU = "GPU";

// What a kernel is made for: one op call with concrete types and shapes. An output of an op with dynamic outputs may
// have unknown axes.
class KernelSpec {
 public:
  KernelSpec(const OpCall& call, std::span<const TensorSpec> outputs, Device& device, std::string_view node = {})
      : call_(&call), outputs_(outputs), device_(&device), node_(node) {}

  // Name of the op.
  const char* name() const { return call_->name(); }
  // The attribute given, else the op's default.
  template <class T>
  T attr(std::string_view name) const {
    return call_->attr<T>(name);
  }
  // Whether it has this attribute.
  bool has_attr(std::string_view name) const { return call_->has_attr(name); }
  // The call it is made for.
  const OpCall& call() const { return *call_; }
  // Number of inputs.
  int num_inputs() const { return call_->num_inputs(); }
  // Number of outputs.
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  // Type and shape of input i.
  const TensorSpec& input(int i) const { return call_->spec(i); }
  // Type and shape of output i.
  const TensorSpec& output(int i) const { return outputs_[i]; }
  // Types and shapes of all outputs.
  std::span<const TensorSpec> outputs() const { return outputs_; }
  // Number of elements of input i.
  std::int64_t input_size(int i) const { return input(i).shape.num_elements(); }
  // Number of elements of output i.
  std::int64_t output_size(int i) const { return output(i).shape.num_elements(); }
  // Where it is to run.
  Device& device() const { return *device_; }
  // Name of the graph's node it is for, for errors; empty outside of graphs.
  std::string_view node() const { return node_; }

 private:
  const OpCall* call_;
  std::span<const TensorSpec> outputs_;
  Device* device_;
  std::string_view node_;
};

// Makes the kernel for a spec: all that depends on shapes is computed here, once. Empty: ask a lower level of the CPU.
using KernelMaker = KernelFn (*)(const KernelSpec&);

// Makes the kernel of an op on a type of device known; COHORT_KERNEL calls it.
bool register_kernel(std::string_view op, std::string_view device_type, KernelMaker maker);
// Whether there is a kernel of this op for this type of device.
bool has_kernel(std::string_view op, std::string_view device_type);
// The kernel for a spec and its device, else the CPU's on copies (make_host_kernel); throws Unimplemented naming the op
// and the device when there is none.
KernelFn make_kernel(const KernelSpec& spec);

#define COHORT_KERNEL(op, device_type, maker)                                     \
  [[maybe_unused]] static const bool COHORT_CONCAT(cohort_kernel_, __COUNTER__) = \
      ::cohort::register_kernel(op, device_type, maker)

}  // namespace cohort
