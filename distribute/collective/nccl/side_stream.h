#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "cohort/core/thread_pool.h"
#include "cohort/cuda/cuda_device.h"

namespace cohort::distribute::collective {

// A stream beside a device's others for work that they begin and wait for later, the oldest first. It is recorded with
// them. For one thread at a time.
class SideStream {
 public:
  explicit SideStream(const cuda::CudaDevice& device);
  ~SideStream();
  SideStream(const SideStream&) = delete;

  // What `work` puts there follows all that `main` holds.
  void begin(cudaStream_t main, FunctionRef<void(cudaStream_t side)> work);
  // What is put into `main` from now on follows the oldest work that was begun.
  void end(cudaStream_t main);
  // Whether the device may be at work on what was begun and nobody has waited for.
  bool has_begun() const;
  // Forgets that; when it returns nothing of it is at work.
  void abandon() noexcept;

 private:
  struct Begun {
    cudaEvent_t done;
    bool recorded;  // it is kept, not done
  };
  cudaEvent_t make_event() const;

  const cuda::CudaDevice& device_;
  cudaStream_t side_ = nullptr;
  cudaEvent_t ready_ = nullptr;
  std::vector<Begun> begun_;
  std::vector<cudaEvent_t> spare_;
};

}  // namespace cohort::distribute::collective
