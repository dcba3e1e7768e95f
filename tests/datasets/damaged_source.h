#pragma once

#include <atomic>
#include <cstdint>

#include "cohort/data/dataset.h"

namespace cohort::datasets::test {

// 0, 1, ... below `count`, one after the other; in place of every number that `period` divides, unless that is
// negative, comes an error.
Dataset damaged_source(std::int64_t count, std::int64_t period);
// The same, reached by number.
Dataset damaged_indexed_source(std::int64_t count, std::int64_t period);
// How many elements all of them have given or failed to give.
std::int64_t elements_read();

}  // namespace cohort::datasets::test
