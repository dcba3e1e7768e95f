#pragma once

#include <cstdint>
#include <vector>

#include "cohort/core/kernel.h"

namespace cohort::kernels::cuda {

// How the inputs of an elementwise node are read while its output is written from front to back: those of the output's
// size and single elements need no thought; for the others, axes that all of them walk alike are merged.
struct FusedAxes {
  enum class Walk { Dense, Single, Broadcast };

  explicit FusedAxes(const KernelSpec& spec);

  std::vector<Walk> walks;  // by input
  std::vector<std::int64_t> sizes;
  // By axis, for the broadcast inputs in their order; 0 where one stays. The last axis has only ones and zeros.
  std::vector<std::vector<std::int64_t>> strides;
};

// What replaces a division of numbers below 2^31 by `divisor`: (high half of number * magic, plus number) >> shift.
struct Division {
  explicit Division(std::uint32_t divisor);
  std::uint32_t magic = 0;
  std::uint32_t shift = 0;
};

}  // namespace cohort::kernels::cuda
