#pragma once

#include <cstdint>

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// The numbers 0, 1, ... below `stop`, as int64 scalars.
Dataset range(std::int64_t stop);
// start, start + step, ... before `stop`; `step` may be negative.
Dataset range(std::int64_t start, std::int64_t stop, std::int64_t step = 1);

}  // namespace cohort::datasets
