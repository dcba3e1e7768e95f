#pragma once

#include <algorithm>
#include <cstdint>

#include "cohort/core/kernel.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/vector_width.h"

namespace cohort {

// The sizes of a recurrence over (batch, steps, ...) and its cut: rows of the batch do not see one another, so each
// block of them goes through all steps by itself.
struct Recurrence {
  std::int64_t batch = 0, steps = 0, units = 0;
  bool reverse = false;

  // What the innermost loop takes at once; more would not be faster and leave fewer blocks. Wide vectors are through
  // with the weights sooner than the second cache brings them, so there twice as many rows meet them. Fewer where there
  // are threads for them: bits do not depend on it.
  static constexpr std::int64_t kBlockRows = kVectorBytes > 16 ? 16 : 8;
  std::int64_t block_rows() const {
    const std::int64_t threads = ThreadPool::instance().threads();
    return std::clamp<std::int64_t>((batch + threads - 1) / threads, 2, kBlockRows);
  }
  // The place in the sequence of the step that comes `step`-th.
  std::int64_t time(std::int64_t step) const { return reverse ? steps - 1 - step : step; }
  // body(first row, rows)
  template <class Body>
  void for_row_blocks(const Body& body) const {
    parallel_for(batch, block_rows(), [&](std::int64_t begin, std::int64_t end) { body(begin, end - begin); });
  }
};

// Row `row` at time `time` of a (batch, steps, width) tensor.
template <class T>
T* row_at(T* tensor, const Recurrence& r, std::int64_t width, std::int64_t row, std::int64_t time) {
  return tensor + (row * r.steps + time) * width;
}

}  // namespace cohort
