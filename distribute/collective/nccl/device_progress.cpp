#include "cohort/distribute/collective/nccl/device_progress.h"

#include "cohort/cuda/check.h"

namespace cohort::distribute::collective {

using Clock = std::chrono::steady_clock;

DeviceProgress::DeviceProgress(cuda::CudaDevice& device) : device_(device), reached_(Clock::now()) {
  device_.make_current();
  cuda::check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
}

DeviceProgress::~DeviceProgress() { (void)cudaEventDestroy(event_); }

Clock::duration DeviceProgress::stands_still() {
  if (pending_ && cudaEventQuery(event_) != cudaErrorNotReady) {
    pending_ = false;
    reached_ = Clock::now();
  }
  // Somebody may hold it who waits for the device.
  if (const auto held = device_.try_hold(); held && !pending_) {
    device_.make_current();
    pending_ = cudaEventRecord(event_, device_.stream(DeviceStream::Compute)) == cudaSuccess;
  }
  (void)cudaGetLastError();
  return Clock::now() - reached_;
}

}  // namespace cohort::distribute::collective
