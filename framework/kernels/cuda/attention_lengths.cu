#include "cohort/kernels/cuda/attention_lengths.h"

#include "cohort/kernels/cuda/launch.h"

namespace cohort::kernels::cuda {

void enqueue_lengths(std::int32_t* steps_of, std::int32_t* keys_of, std::int64_t batch, std::int64_t steps,
                     std::int64_t keys, const cohort::cuda::CudaDevice& device, cudaStream_t stream) {
  launch_each(batch, device, stream, [=] __device__(std::int64_t i) {
    steps_of[i] = static_cast<std::int32_t>(steps);
    keys_of[i] = static_cast<std::int32_t>(keys);
  });
}

}  // namespace cohort::kernels::cuda
