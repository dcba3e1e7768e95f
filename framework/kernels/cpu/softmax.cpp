#include <algorithm>

#include "cohort/core/kernel.h"
#include "cohort/core/scratch.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/softmax_rows.h"
#include "cohort/kernels/cpu/visit.h"

namespace cohort {
namespace {

template <class C>
void softmax_row(const C* x, C* y, std::int64_t count) {
  const C scale = C(1) / exp_row(x, y, count).sum;
  for (std::int64_t j = 0; j < count; ++j) y[j] *= scale;
}

template <class C>
void log_softmax_row(const C* x, C* y, std::int64_t count) {
  const auto [max, sum] = exp_row(x, y, count);
  const C log_sum = fn::log(sum);
  for (std::int64_t j = 0; j < count; ++j) y[j] = (x[j] - max) - log_sum;
}

Scratch row_and_result;

// Rows along an axis: contiguous when it is the last, else `inner` elements apart.
template <class T, class RowFunction>
KernelFn along_axis(const KernelSpec& spec, RowFunction row_function) {
  const Shape& shape = spec.input(0).shape;
  const int axis = normalize_axis(spec.attr<int>("axis"), shape.rank(), spec.name());
  const std::int64_t count = shape[axis], inner = shape.slice(axis + 1).num_elements();
  const std::int64_t rows = shape.slice(0, axis).num_elements() * inner;
  const std::int64_t grain = std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(1, count));
  return [=](const KernelIO& io) {
    using C = ComputeType<T>;
    const T* x = io.in<T>(0);
    T* y = io.out<T>(0);
    parallel_for(rows, grain, [=](std::int64_t begin, std::int64_t end) {
      if constexpr (std::is_same_v<T, C>) {
        if (inner == 1) {
          for (std::int64_t r = begin; r < end; ++r) row_function(x + r * count, y + r * count, count);
          return;
        }
      }
      C *from = row_and_result.get<C>(2 * count), *to = from + count;
      for (std::int64_t r = begin; r < end; ++r) {
        const std::int64_t start = r / inner * count * inner + r % inner;
        for (std::int64_t j = 0; j < count; ++j) from[j] = C(x[start + j * inner]);
        row_function(from, to, count);
        for (std::int64_t j = 0; j < count; ++j) y[start + j * inner] = T(to[j]);
      }
    });
  };
}

KernelFn make_softmax(const KernelSpec& spec) {
  return visit_floating(spec.input(0).dtype,
                        [&]<class T>(T) { return along_axis<T>(spec, softmax_row<ComputeType<T>>); });
}
KernelFn make_log_softmax(const KernelSpec& spec) {
  return visit_floating(spec.input(0).dtype,
                        [&]<class T>(T) { return along_axis<T>(spec, log_softmax_row<ComputeType<T>>); });
}

COHORT_KERNEL("Softmax", kCPU, make_softmax);
COHORT_KERNEL("LogSoftmax", kCPU, make_log_softmax);

}  // namespace
}  // namespace cohort
