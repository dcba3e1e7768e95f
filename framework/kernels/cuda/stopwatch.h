#pragma once

#include <cuda_runtime_api.h>

#include "cohort/cuda/check.h"

namespace cohort::kernels::cuda {

// Takes the time of work on a stream.
class Stopwatch {
 public:
  explicit Stopwatch(cudaStream_t stream) : stream_(stream) {
    cohort::cuda::check(cudaEventCreate(&begin_));
    cohort::cuda::check(cudaEventCreate(&end_));
  }
  ~Stopwatch() {
    (void)cudaEventDestroy(begin_);
    (void)cudaEventDestroy(end_);
  }
  Stopwatch(const Stopwatch&) = delete;

  // Milliseconds.
  template <class Work>
  float time(const Work& work) {
    cohort::cuda::check(cudaEventRecord(begin_, stream_));
    work();
    cohort::cuda::check(cudaEventRecord(end_, stream_));
    cohort::cuda::check(cudaEventSynchronize(end_));
    float milliseconds = 0;
    cohort::cuda::check(cudaEventElapsedTime(&milliseconds, begin_, end_));
    return milliseconds;
  }

 private:
  cudaStream_t stream_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace cohort::kernels::cuda
