#pragma once

#include <span>
#include <string_view>

#include "cohort/core/device.h"
#include "cohort/core/op.h"

namespace cohort {

inline constexpr std::string_view kCPU = "CPU";
inline constexpr std::string_view kGPU = "GPU";

// What a kernel is made for: one op call with concrete types and shapes. An output of an op with dynamic outputs may
// have unknown axes.
class KernelSpec {
 public:
  KernelSpec(const OpCall& call, std::span<const TensorSpec> outputs) : call_(&call), outputs_(outputs) {}

  const char* name() const { return call_->name(); }
  template <class T>
  T attr(std::string_view name) const {
    return call_->attr<T>(name);
  }
  bool has_attr(std::string_view name) const { return call_->has_attr(name); }
  const OpCall& call() const { return *call_; }
  int num_inputs() const { return call_->num_inputs(); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  const TensorSpec& input(int i) const { return call_->spec(i); }
  const TensorSpec& output(int i) const { return outputs_[i]; }
  std::int64_t input_size(int i) const { return input(i).shape.num_elements(); }
  std::int64_t output_size(int i) const { return output(i).shape.num_elements(); }

 private:
  const OpCall* call_;
  std::span<const TensorSpec> outputs_;
};

// Makes the kernel for a spec: everything that depends on attributes and shapes is computed here, once.
using KernelMaker = KernelFn (*)(const KernelSpec&);

bool register_kernel(std::string_view op, std::string_view device_type, KernelMaker maker);
bool has_kernel(std::string_view op, std::string_view device_type);
// Throws Unimplemented naming the op and the device when the slot is empty.
KernelFn make_kernel(const KernelSpec& spec, std::string_view device_type);

#define COHORT_KERNEL(op, device_type, maker)                                     \
  [[maybe_unused]] static const bool COHORT_CONCAT(cohort_kernel_, __COUNTER__) = \
      ::cohort::register_kernel(op, device_type, maker)

}  // namespace cohort
