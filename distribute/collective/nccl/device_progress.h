#pragma once

#include <cuda_runtime_api.h>

#include <chrono>

#include "cohort/cuda/cuda_device.h"

namespace cohort::distribute::collective {

// Whether a device gets on with its work, as somebody sees it who must not wait for it. For one thread.
class DeviceProgress {
 public:
  explicit DeviceProgress(cuda::CudaDevice& device);
  ~DeviceProgress();
  DeviceProgress(const DeviceProgress&) = delete;

  // How long the device has not reached what was in its stream before; asked again and again.
  std::chrono::steady_clock::duration stands_still();

 private:
  cuda::CudaDevice& device_;
  cudaEvent_t event_ = nullptr;
  bool pending_ = false;  // the event has been put there
  std::chrono::steady_clock::time_point reached_;
};

}  // namespace cohort::distribute::collective
