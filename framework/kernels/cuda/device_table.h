#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cohort/cuda/cuda_device.h"

namespace cohort::kernels::cuda {

// A table in the device's memory, written when a kernel is made, for what is too large to be a kernel's parameter.
template <class T>
class DeviceTable {
 public:
  DeviceTable(cohort::cuda::CudaDevice& device, const std::vector<T>& elements) {
    const std::size_t bytes = elements.size() * sizeof(T);
    memory_.reset(static_cast<T*>(device.allocate(bytes)),
                  [&device, bytes](T* memory) { device.deallocate(memory, bytes); });
    device.copy_from_host(memory_.get(), elements.data(), bytes);
  }
  const T* data() const { return memory_.get(); }

 private:
  std::shared_ptr<T> memory_;
};

}  // namespace cohort::kernels::cuda
