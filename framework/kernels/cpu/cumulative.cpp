#include "cohort/core/kernel.h"
#include "cohort/kernels/cpu/axis_columns.h"
#include "cohort/kernels/cpu/element_types.h"

namespace cohort::kernels {
namespace {

// Running values along an axis; `Merge` combines the value so far with the next element.
template <class Merge, int kStart>
KernelFn make_cumulative(const KernelSpec& spec) {
  const AxisColumns split(spec.input(0).shape, spec.attr<int>("axis"));
  const bool exclusive = spec.attr<bool>("exclusive"), reverse = spec.attr<bool>("reverse");
  return visit_dtype(spec.input(0).dtype, [&](auto zero) -> KernelFn {
    using T = decltype(zero);
    using C = Compute<T>;
    if constexpr (std::is_same_v<T, bool>) {
      return {};
    } else {
      return [=](const KernelIO& io) {
        split.for_columns([&](std::int64_t outer, std::int64_t column, std::int64_t width) {
          C so_far[AxisColumns::kWidth];
          std::fill_n(so_far, width, static_cast<C>(kStart));
          for (std::int64_t step = 0; step < split.size; ++step) {
            const std::int64_t row = outer * split.size + (reverse ? split.size - 1 - step : step);
            const T* x = io.in<T>(0) + row * split.inner + column;
            T* y = io.out<T>(0) + row * split.inner + column;
            for (std::int64_t j = 0; j < width; ++j) {
              const C before = so_far[j];
              so_far[j] = Merge{}(before, static_cast<C>(x[j]));
              y[j] = static_cast<T>(exclusive ? before : so_far[j]);
            }
          }
        });
      };
    }
  });
}

KernelFn make_linear_scan(const KernelSpec& spec) {
  const AxisColumns split(spec.input(0).shape, spec.attr<int>("axis"));
  const bool exclusive = spec.attr<bool>("exclusive"), reverse = spec.attr<bool>("reverse");
  const bool shift = spec.attr<bool>("shift");
  return visit_dtype(spec.input(0).dtype, [&](auto zero) -> KernelFn {
    using T = decltype(zero);
    using C = Compute<T>;
    if constexpr (std::is_same_v<T, bool>) {
      return {};
    } else {
      return [=](const KernelIO& io) {
        split.for_columns([&](std::int64_t outer, std::int64_t column, std::int64_t width) {
          C so_far[AxisColumns::kWidth], factor[AxisColumns::kWidth];
          std::fill_n(so_far, width, C{0});
          std::fill_n(factor, width, C{0});
          for (std::int64_t step = 0; step < split.size; ++step) {
            const std::int64_t row = outer * split.size + (reverse ? split.size - 1 - step : step);
            const std::int64_t start = row * split.inner + column;
            const T *a = io.in<T>(0) + start, *b = io.in<T>(1) + start;
            T* y = io.out<T>(0) + start;
            for (std::int64_t j = 0; j < width; ++j) {
              const C before = so_far[j], own = static_cast<C>(a[j]);
              so_far[j] = fn::Add{}(static_cast<C>(b[j]), fn::Multiply{}(shift ? factor[j] : own, before));
              factor[j] = own;
              y[j] = static_cast<T>(exclusive ? before : so_far[j]);
            }
          }
        });
      };
    }
  });
}

}  // namespace

COHORT_KERNEL("Cumsum", kCPU, (make_cumulative<fn::Add, 0>));
COHORT_KERNEL("Cumprod", kCPU, (make_cumulative<fn::Multiply, 1>));
COHORT_KERNEL("LinearScan", kCPU, make_linear_scan);

}  // namespace cohort::kernels
