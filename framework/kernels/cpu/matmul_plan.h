#pragma once

#include <cstdint>
#include <vector>

#include "cohort/core/kernel.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/gemm.h"

namespace cohort {

// A batch of matrix products whose batch axes broadcast: which matrices meet, and how each product is computed. Half
// types may be given and taken as float32.
template <class T>
class MatMulPlan {
 public:
  explicit MatMulPlan(const KernelSpec& spec) : gemm_(shape_of(spec)) {
    const Shape &a = spec.input(0).shape, &b = spec.input(1).shape, &c = spec.output(0).shape;
    c_matrix_ = c.dim(-1) * c.dim(-2) * bytes_of(spec.output(0));
    if (folds(spec)) return;
    const int batch_axes = c.rank() - 2;
    const std::int64_t a_matrix = a.dim(-1) * a.dim(-2) * bytes_of(spec.input(0)),
                       b_matrix = b.dim(-1) * b.dim(-2) * bytes_of(spec.input(1));
    batch_ = c.slice(0, batch_axes).num_elements();
    for (std::int64_t i = 0; i < batch_; ++i) {
      a_offsets_.push_back(batch_index(a, c, i) * a_matrix);
      b_offsets_.push_back(batch_index(b, c, i) * b_matrix);
    }
  }

  // A product for each matrix of c; `finish` is applied while its rows are in the cache.
  void run(const KernelIO& io, const GemmFinish<T>& finish = {}) const {
    if (batch_ == 0) return;
    const char *a = static_cast<const char*>(io.inputs[0]), *b = static_cast<const char*>(io.inputs[1]);
    char* c = static_cast<char*>(io.outputs[0]);
    if (a_offsets_.empty()) return gemm_.run(a, b, c, finish);
    const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
    if (gemm_.shared() && batch_ < 2 * ThreadPool::instance().threads()) {
      for (std::int64_t i = 0; i < batch_; ++i) {
        gemm_.run(a + a_offsets_[at(i)], b + b_offsets_[at(i)], c + i * c_matrix_, finish);
      }
      return;
    }
    parallel_for(batch_, gemm_.products_per_task(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        gemm_.run_here(a + a_offsets_[at(i)], b + b_offsets_[at(i)], c + i * c_matrix_, finish);
      }
    });
  }

 private:
  // One matrix b for the whole batch, and rows of a that follow each other: it is a single, taller product.
  static bool folds(const KernelSpec& spec) {
    return spec.input(1).shape.rank() == 2 && !spec.attr<bool>("transpose_a");
  }
  static GemmShape shape_of(const KernelSpec& spec) {
    const Shape &a = spec.input(0).shape, &c = spec.output(0).shape;
    GemmShape shape;
    shape.transpose_a = spec.attr<bool>("transpose_a");
    shape.transpose_b = spec.attr<bool>("transpose_b");
    shape.n = c.dim(-1);
    shape.m = folds(spec) ? c.slice(0, c.rank() - 1).num_elements() : c.dim(-2);
    shape.k = a.dim(shape.transpose_a ? -2 : -1);
    shape.wide_a = spec.input(0).dtype != dtype_of<T>;
    shape.wide_b = spec.input(1).dtype != dtype_of<T>;
    shape.wide_c = spec.output(0).dtype != dtype_of<T>;
    return shape;
  }
  static std::int64_t bytes_of(const TensorSpec& matrices) {
    return static_cast<std::int64_t>(size_of(matrices.dtype));
  }
  // Which matrix of `operand` belongs to matrix `index` of the result.
  static std::int64_t batch_index(const Shape& operand, const Shape& result, std::int64_t index) {
    std::int64_t position = 0, stride = 1;
    for (int i = result.rank() - 3, j = operand.rank() - 3; i >= 0; --i, --j) {
      const std::int64_t at = index % result[i];
      index /= result[i];
      if (j < 0) continue;
      if (operand[j] != 1) position += at * stride;
      stride *= operand[j];
    }
    return position;
  }

  Gemm<T> gemm_;
  std::int64_t batch_ = 1, c_matrix_ = 0;  // bytes, as the offsets
  std::vector<std::int64_t> a_offsets_, b_offsets_;
};

}  // namespace cohort
