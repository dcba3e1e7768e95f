#pragma once

#include <cohort/cohort.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cohort::bench {

// A training job that GPUs are measured on; the peers' scripts have the same. The loss of all is the sparse
// cross-entropy from logits.
struct GpuJob {
  std::int64_t steps;    // of an epoch
  std::int64_t samples;  // of a batch, as the peers count them: tokens where the batch is text
  double flops = 0.0;    // of a step, as the peers count them; 0: they do not
  Ref<Optimizer> optimizer;
  // Its layers take the device and the types that hold when this is called.
  std::function<std::unique_ptr<Model>()> make_model;
  // A batch (x, y), drawn on the default device.
  std::function<Element()> make_batch;
};

// batch: rows of a batch; 0: as many as the peers take.
GpuJob make_gpu_job(const std::string& name, std::int64_t batch = 0);
std::vector<std::string> gpu_job_names();

// A dataset whose only element is this batch, on the device where it is: no step copies it from the host.
Dataset resident_batch(const Element& batch);

}  // namespace cohort::bench
