#include "cohort/kernels/cpu/reduce_loops.h"
#include "cohort/kernels/cpu/visit.h"

namespace cohort::kernels {
namespace {

ReducePlan plan_of(const KernelSpec& spec) {
  const Shape& shape = spec.input(0).shape;
  return ReducePlan(shape, reduced_axes(shape, spec.attr<std::vector<std::int64_t>>("axes")));
}

template <template <class> class Reducer, fn::Types types>
KernelFn make(const KernelSpec& spec, const ReducePlan& plan) {
  return visit_plain(spec.input(0).dtype, [&](auto zero) -> KernelFn {
    using T = decltype(zero);
    if constexpr (accepts<types, T>) {
      const bool wide = spec.output(0).dtype != dtype_of<T>;  // float32 that holds rounded sums of a half type
      return reduce_kernel<Reducer<T>, T>(plan, [wide](auto total, const KernelIO& io, std::int64_t output) {
        const T result = static_cast<T>(static_cast<Compute<T>>(total));
        if (!std::is_same_v<T, Compute<T>> && wide) {
          io.out<float>(0)[output] = static_cast<float>(result);
        } else {
          io.out<T>(0)[output] = result;
        }
      });
    }
    return {};
  });
}

KernelFn make_sum(const KernelSpec& spec) { return make<SumReducer, fn::Types::Number>(spec, plan_of(spec)); }
KernelFn make_prod(const KernelSpec& spec) { return make<ProdReducer, fn::Types::Number>(spec, plan_of(spec)); }
KernelFn make_max(const KernelSpec& spec) { return make<MaxReducer, fn::Types::Number>(spec, plan_of(spec)); }
KernelFn make_min(const KernelSpec& spec) { return make<MinReducer, fn::Types::Number>(spec, plan_of(spec)); }
KernelFn make_any(const KernelSpec& spec) { return make<AnyReducer, fn::Types::Bool>(spec, plan_of(spec)); }
KernelFn make_all(const KernelSpec& spec) { return make<AllReducer, fn::Types::Bool>(spec, plan_of(spec)); }

KernelFn make_sum_to_like(const KernelSpec& spec) {
  const Shape& shape = spec.input(0).shape;
  return make<SumReducer, fn::Types::Number>(spec, ReducePlan(shape, broadcast_axes(shape, spec.input(1).shape)));
}

KernelFn make_mean(const KernelSpec& spec) {
  const ReducePlan plan = plan_of(spec);
  return visit_plain(spec.input(0).dtype, [&](auto zero) -> KernelFn {
    using T = decltype(zero);
    if constexpr (accepts<fn::Types::Float, T>) {
      return reduce_kernel<SumReducer<T>, T>(plan, [count = static_cast<double>(plan.reduced_count)](
                                                       double total, const KernelIO& io, std::int64_t output) {
        io.out<T>(0)[output] = static_cast<T>(static_cast<Compute<T>>(total / count));
      });
    }
    return {};
  });
}

KernelFn make_size_of(const KernelSpec& spec) {
  const Shape& shape = spec.input(0).shape;
  const AxisMask mask = reduced_axes(shape, spec.attr<std::vector<std::int64_t>>("axes"));
  std::int64_t size = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (mask[static_cast<std::size_t>(axis)]) size *= shape[axis];
  }
  return visit_plain(spec.output(0).dtype, [size](auto zero) -> KernelFn {
    using T = decltype(zero);
    return [size](const KernelIO& io) { *io.out<T>(0) = static_cast<T>(size); };
  });
}

}  // namespace

COHORT_KERNEL("Sum", kCPU, make_sum);
COHORT_KERNEL("Prod", kCPU, make_prod);
COHORT_KERNEL("Max", kCPU, make_max);
COHORT_KERNEL("Min", kCPU, make_min);
COHORT_KERNEL("Any", kCPU, make_any);
COHORT_KERNEL("All", kCPU, make_all);
COHORT_KERNEL("Mean", kCPU, make_mean);
COHORT_KERNEL("SumToLike", kCPU, make_sum_to_like);
COHORT_KERNEL("SizeOf", kCPU, make_size_of);

}  // namespace cohort::kernels
