#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "cohort/core/random.h"

namespace cohort::cuda {

// Writes turn_of(*loop, i) to turns[i], all in memory of the device.
void enqueue_turns(RandomState* turns, const RandomState* loop, std::size_t count, cudaStream_t stream);

}  // namespace cohort::cuda
