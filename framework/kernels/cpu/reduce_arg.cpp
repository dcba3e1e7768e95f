#include "cohort/core/kernel.h"
#include "cohort/kernels/cpu/axis_columns.h"
#include "cohort/kernels/cpu/element_types.h"

namespace cohort::kernels {
namespace {

// Better replaces what was best so far; the first NaN beats every number.
template <class Better, class C>
bool replaces(C candidate, C best) {
  return Better{}(candidate, best) | ((candidate != candidate) & (best == best));
}

template <class Better, class C, class T>
std::int32_t best_along(const T* x, std::int64_t size, std::int64_t stride) {
  C best = static_cast<C>(*x);
  std::int32_t index = 0;
  for (std::int64_t k = 1; k < size; ++k) {
    const C candidate = static_cast<C>(x[k * stride]);
    const bool better = replaces<Better>(candidate, best);
    best = better ? candidate : best;
    index = better ? static_cast<std::int32_t>(k) : index;
  }
  return index;
}

template <class Better>
KernelFn make_arg(const KernelSpec& spec) {
  const AxisColumns split(spec.input(0).shape, spec.attr<int>("axis"));
  return visit_dtype(spec.input(0).dtype, [&](auto zero) -> KernelFn {
    using T = decltype(zero);
    using C = Compute<T>;
    return [split](const KernelIO& io) {
      split.for_columns([&](std::int64_t outer, std::int64_t column, std::int64_t width) {
        const T* x = io.in<T>(0) + outer * split.size * split.inner + column;
        std::int32_t* index = io.out<std::int32_t>(0) + outer * split.inner + column;
        if (width == 1) {
          *index = best_along<Better, C>(x, split.size, split.inner);
          return;
        }
        C best[AxisColumns::kWidth];
        for (std::int64_t j = 0; j < width; ++j) {
          best[j] = static_cast<C>(x[j]);
          index[j] = 0;
        }
        for (std::int64_t k = 1; k < split.size; ++k) {
          x += split.inner;
          for (std::int64_t j = 0; j < width; ++j) {
            const C candidate = static_cast<C>(x[j]);
            if (replaces<Better>(candidate, best[j])) {
              best[j] = candidate;
              index[j] = static_cast<std::int32_t>(k);
            }
          }
        }
      });
    };
  });
}

}  // namespace

COHORT_KERNEL("ArgMax", kCPU, make_arg<fn::Greater>);
COHORT_KERNEL("ArgMin", kCPU, make_arg<fn::Less>);

}  // namespace cohort::kernels
