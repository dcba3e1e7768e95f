#include "cohort/core/rounded_value.h"

namespace cohort {

void* RoundedCopy::memory(const TensorSpec& spec, Device& device) {
  if (device_.load(std::memory_order_acquire) != &device) {
    std::lock_guard lock(mutex_);
    if (device_.load(std::memory_order_relaxed) != &device) {
      tensor_ = Tensor::empty(spec.dtype, spec.shape, device);
      follow(0);
      device_.store(&device, std::memory_order_release);
    }
  }
  return tensor_.raw();
}

}  // namespace cohort
