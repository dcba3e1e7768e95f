#include <limits>

#include "cohort/kernels/cuda/reduce_kernels.h"

namespace cohort::kernels::cuda {
namespace {

AxisMask mask_of(const KernelSpec& spec) {
  return reduced_axes(spec.input(0).shape, spec.attr<std::vector<std::int64_t>>("axes"));
}

KernelFn sum(const KernelSpec& spec, const AxisMask& mask, bool divides) {
  const ReducePlan plan(spec.input(0).shape, mask);
  const DType dtype = spec.input(0).dtype;
  return visit_computed(dtype, [&](auto type) {
    using C = typename decltype(type)::type;
    const SumReducer<C> reducer{divides, static_cast<double>(plan.reduced_count)};
    return make_reduction<SumReducer<C>, C>(spec, plan, reducer, dtype);
  });
}

KernelFn make_sum(const KernelSpec& spec) { return sum(spec, mask_of(spec), false); }
KernelFn make_mean(const KernelSpec& spec) { return sum(spec, mask_of(spec), true); }
KernelFn make_sum_to_like(const KernelSpec& spec) {
  return sum(spec, broadcast_axes(spec.input(0).shape, spec.input(1).shape), false);
}

KernelFn make_prod(const KernelSpec& spec) {
  const DType dtype = spec.input(0).dtype;
  return visit_computed(dtype, [&](auto type) {
    using C = typename decltype(type)::type;
    const ReducePlan plan(spec.input(0).shape, mask_of(spec));
    return make_reduction<ProdReducer<C>, C>(spec, plan, ProdReducer<C>{}, dtype);
  });
}

// The largest or smallest of no elements at all.
template <class C>
C extreme_of_nothing(DType dtype, bool largest) {
  if constexpr (std::is_floating_point_v<C>) {
    return largest ? -std::numeric_limits<C>::infinity() : std::numeric_limits<C>::infinity();
  } else {
    if (dtype == DType::Bool) return largest ? 0 : 1;
    return visit_index(dtype, [&](auto type) {
      using Limits = std::numeric_limits<typename decltype(type)::type>;
      return static_cast<C>(largest ? Limits::lowest() : Limits::max());
    });
  }
}

KernelFn extreme(const KernelSpec& spec, bool largest) {
  const DType dtype = spec.input(0).dtype;
  return visit_computed(dtype, [&](auto type) {
    using C = typename decltype(type)::type;
    const ReducePlan plan(spec.input(0).shape, mask_of(spec));
    const ExtremeReducer<C> reducer{largest, extreme_of_nothing<C>(dtype, largest)};
    return make_reduction<ExtremeReducer<C>, C>(spec, plan, reducer, dtype);
  });
}

KernelFn make_largest(const KernelSpec& spec) { return extreme(spec, true); }
KernelFn make_smallest(const KernelSpec& spec) { return extreme(spec, false); }

KernelFn arg(const KernelSpec& spec, bool largest) {
  const Shape& shape = spec.input(0).shape;
  const ReducePlan plan(shape, reduced_axes(shape, {spec.attr<int>("axis")}));
  return visit_computed(spec.input(0).dtype, [&](auto type) {
    using C = typename decltype(type)::type;
    return make_reduction<ArgReducer<C>, C>(spec, plan, ArgReducer<C>{largest}, spec.output(0).dtype);
  });
}

KernelFn make_arg_max(const KernelSpec& spec) { return arg(spec, true); }
KernelFn make_arg_min(const KernelSpec& spec) { return arg(spec, false); }

template <class C>
__global__ void write_one(TypedElements<C> y, C value) {
  y.set(0, value);
}

KernelFn make_size_of(const KernelSpec& spec) {
  const Shape& shape = spec.input(0).shape;
  const std::int64_t size = ReducePlan(shape, mask_of(spec)).reduced_count;
  const DType dtype = spec.output(0).dtype;
  return visit_computed(dtype, [&](auto type) -> KernelFn {
    using C = typename decltype(type)::type;
    return [=, value = static_cast<C>(size)](const KernelIO& io) {
      write_one<C><<<1, 1, 0, stream_of(io)>>>({io.outputs[0], dtype}, value);
      cohort::cuda::check(cudaGetLastError());
    };
  });
}

COHORT_KERNEL("Sum", kGPU, make_sum);
COHORT_KERNEL("Mean", kGPU, make_mean);
COHORT_KERNEL("SumToLike", kGPU, make_sum_to_like);
COHORT_KERNEL("Prod", kGPU, make_prod);
COHORT_KERNEL("Max", kGPU, make_largest);
COHORT_KERNEL("Min", kGPU, make_smallest);
COHORT_KERNEL("Any", kGPU, make_largest);
COHORT_KERNEL("All", kGPU, make_smallest);
COHORT_KERNEL("ArgMax", kGPU, make_arg_max);
COHORT_KERNEL("ArgMin", kGPU, make_arg_min);
COHORT_KERNEL("SizeOf", kGPU, make_size_of);

}  // namespace
}  // namespace cohort::kernels::cuda
