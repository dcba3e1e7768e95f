#include "cohort/kernels/cpu/element_types.h"
#include "cohort/kernels/cpu/pooling.h"
#include "cohort/kernels/cpu/visit.h"

namespace cohort::kernels {
namespace {

template <class T, class Count>
void mean_of_window(const PoolPlan& plan, const PoolWindow& window, const T* image, T* y, Count count) {
  using C = Compute<T>;
  C sum[kPoolGroup] = {};
  for_each_tap(plan, window, [&](std::int64_t offset) {
    for (std::int64_t c = 0; c < count; ++c) sum[c] += C(image[offset + c]);
  });
  const C taps = static_cast<C>(window.taps());
  for (std::int64_t c = 0; c < count; ++c) y[c] = T(sum[c] / taps);
}

KernelFn make_average_pool(const KernelSpec& spec) {
  const PoolPlan plan(spec, spec.input(0).shape);
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    return [plan](const KernelIO& io) {
      for_pool_rows(plan, [&](std::int64_t image, std::int64_t row) {
        const T* x = io.in<T>(0) + image * plan.image();
        T* first = io.out<T>(0) + (image * plan.rows() + row) * plan.row_outputs();
        for_each_window(plan, row, [&](const PoolWindow& window, std::int64_t output) {
          for_channel_groups(plan.channels, [&](std::int64_t c, auto count) {
            mean_of_window(plan, window, x + c, first + output + c, count);
          });
        });
      });
    };
  });
}

// (dy, like)
KernelFn make_average_pool_grad(const KernelSpec& spec) {
  const PoolPlan plan(spec, spec.output(0).shape);
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    using C = Compute<T>;
    return [plan](const KernelIO& io) {
      for_pool_rows_back(plan, io.out<T>(0), [&](std::int64_t image, std::int64_t row) {
        T* dx = io.out<T>(0) + image * plan.image();
        const T* first = io.in<T>(0) + (image * plan.rows() + row) * plan.row_outputs();
        for_each_window(plan, row, [&](const PoolWindow& window, std::int64_t output) {
          const T* dy = first + output;
          const C taps = static_cast<C>(window.taps());
          for_each_tap(plan, window, [&](std::int64_t offset) {
            for (std::int64_t c = 0; c < plan.channels; ++c) {
              dx[offset + c] = static_cast<T>(dx[offset + c] + C(dy[c]) / taps);
            }
          });
        });
      });
    };
  });
}

COHORT_KERNEL("AveragePool", kCPU, make_average_pool);
COHORT_KERNEL("AveragePoolGrad", kCPU, make_average_pool_grad);

}  // namespace
}  // namespace cohort::kernels
