#pragma once

#include <cstdint>
#include <vector>

#include "cohort/data/dataset.h"

namespace cohort::datasets::test {

// Element n is lengths[n] times the number n, as int64; in place of those with a negative length comes an error.
Dataset ragged_source(const std::vector<std::int64_t>& lengths);
// The same, reached by number.
Dataset ragged_indexed_source(const std::vector<std::int64_t>& lengths);
// How many elements all of them have given or failed to give.
std::int64_t ragged_elements_read();

}  // namespace cohort::datasets::test
