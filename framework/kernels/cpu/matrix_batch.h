#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <string>

#include "cohort/core/kernel.h"
#include "cohort/core/thread_pool.h"

// What kernels that decompose matrices share: they work matrix by matrix over the leading axes.
namespace cohort {

// The matrices that the last two axes of a shape make.
struct MatrixBatch {
  explicit MatrixBatch(const Shape& shape)
      : count(shape.slice(0, shape.rank() - 2).num_elements()), rows(shape.dim(-2)), columns(shape.dim(-1)) {}
  std::int64_t size() const { return rows * columns; }
  // About the multiplications that a decomposition of one matrix takes.
  std::int64_t work() const { return size() * std::min(rows, columns); }

  std::int64_t count, rows, columns;
};

// Calls body(i) for each of `count` matrices, small ones several to a block.
template <class Body>
void for_each_matrix(std::int64_t count, std::int64_t work, const Body& body) {
  const std::int64_t grain = std::max<std::int64_t>(1, 32768 / std::max<std::int64_t>(1, work));
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) body(i);
  });
}

// Remembers the first matrix of a batch that a kernel cannot work with, whichever thread meets it.
class UnfitMatrices {
 public:
  void add(std::int64_t index) {
    std::int64_t seen = first_.load();
    while (index < seen && !first_.compare_exchange_weak(seen, index)) {
    }
  }
  void check(const char* op, const char* expected) const {
    if (first_ != kNone) throw invalid_argument(op, expected, {{"matrix of the batch", first_.load()}});
  }

 private:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> first_{kNone};
};

// make(T()) for the type of the spec's first input, which is float32 or float64.
template <class Make>
KernelFn for_matrix_type(const KernelSpec& spec, const Make& make) {
  return spec.input(0).dtype == DType::Float64 ? make(double{}) : make(float{});
}

}  // namespace cohort
