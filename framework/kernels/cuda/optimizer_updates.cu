#include <memory>

#include "cohort/core/mixed_types.h"
#include "cohort/kernels/cuda/update_rules.h"

namespace cohort::kernels::cuda {
namespace {

// One pass over memory: reads each element of the gradients, the variables and their slots, applies the rule, writes
// back; `half`, unless it is float32, is the type of copies that are written too.
template <class T, class Rule>
__global__ void __launch_bounds__(kBlock)
    update_variables(const __grid_constant__ UpdateTable<update_arrays(Rule::kSlots)> table,
                     const UpdateScalarInputs scalars, const typename Rule::Options options, const DType half) {
  using Elements = UpdateElements<T, Rule::kSlots>;
  constexpr int kCount = Elements::kCount, kStride = kBlock * kCount;
  __shared__ Rule shared_rule;

  const auto place = table.find(static_cast<int>(blockIdx.x));
  const typename Elements::Arrays arrays(table, place.variable);
  std::int64_t at = place.begin + static_cast<std::int64_t>(threadIdx.x) * kCount;
  Elements elements;
  // On their way while the rule is made.
  if (at < place.end) elements.load(arrays, at, place.end);
  if (threadIdx.x == 0) shared_rule = Rule::make(options, UpdateScalars<Compute<T>>(scalars));
  __syncthreads();
  const Rule rule = shared_rule;
  while (at < place.end) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      Compute<T> slot[Rule::kSlots > 0 ? Rule::kSlots : 1];
#pragma unroll
      for (int s = 0; s < Rule::kSlots; ++s) slot[s] = elements.slots[s][i];
      rule(elements.gradient[i], elements.square[i], elements.value[i], slot);
#pragma unroll
      for (int s = 0; s < Rule::kSlots; ++s) elements.slots[s][i] = slot[s];
    }
    elements.store_value(arrays, at, place.end);
    elements.store_rounded(arrays, half, at, place.end);
    elements.store_slots(arrays, at, place.end);
    at += kStride;
    if (at < place.end) elements.load(arrays, at, place.end);
  }
}

template <template <class> class Rule>
KernelFn make_update(const KernelSpec& spec) {
  const UpdateLayout at(spec.call());
  return visit_floating(compute_type(spec.call(), at.gradient(0)), [&](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    using Own = Rule<Compute<T>>;
    using Launches = UpdateLaunches<update_arrays(Own::kSlots)>;
    auto launches = std::make_shared<const Launches>(update_launches<Own::kSlots>(spec, at));
    return [launches, at, options = Own::options(spec)](const KernelIO& io) {
      launches->each(io, [&](const typename Launches::Table& table) {
        update_variables<T, Own><<<table.blocks(), kBlock, 0, stream_of(io)>>>(table, UpdateScalarInputs(io, at),
                                                                               options, at.rounded_type());
        cohort::cuda::check(cudaGetLastError());
      });
    };
  });
}

template <class Real>
using PlainAdam = AdamRule<Real, false>;
template <class Real>
using Amsgrad = AdamRule<Real, true>;
template <class Real>
using PlainRmsprop = RmspropRule<Real, false, false>;
template <class Real>
using CenteredRmsprop = RmspropRule<Real, false, true>;
template <class Real>
using MomentumRmsprop = RmspropRule<Real, true, false>;
template <class Real>
using CenteredMomentumRmsprop = RmspropRule<Real, true, true>;

KernelFn make_adam(const KernelSpec& spec) {
  return spec.attr<bool>("amsgrad") ? make_update<Amsgrad>(spec) : make_update<PlainAdam>(spec);
}

KernelFn make_rmsprop(const KernelSpec& spec) {
  const bool momentum = spec.attr<double>("momentum") > 0.0, centered = spec.attr<bool>("centered");
  if (momentum) return centered ? make_update<CenteredMomentumRmsprop>(spec) : make_update<MomentumRmsprop>(spec);
  return centered ? make_update<CenteredRmsprop>(spec) : make_update<PlainRmsprop>(spec);
}

COHORT_KERNEL("SGDUpdate", kGPU, make_update<SgdRule>);
COHORT_KERNEL("MomentumUpdate", kGPU, make_update<MomentumRule>);
COHORT_KERNEL("AdamUpdate", kGPU, make_adam);
COHORT_KERNEL("AdamaxUpdate", kGPU, make_update<AdamaxRule>);
COHORT_KERNEL("AdagradUpdate", kGPU, make_update<AdagradRule>);
COHORT_KERNEL("AdadeltaUpdate", kGPU, make_update<AdadeltaRule>);
COHORT_KERNEL("RMSpropUpdate", kGPU, make_rmsprop);
COHORT_KERNEL("NadamUpdate", kGPU, make_update<NadamRule>);
COHORT_KERNEL("LionUpdate", kGPU, make_update<LionRule>);
COHORT_KERNEL("FtrlUpdate", kGPU, make_update<FtrlRule>);
COHORT_KERNEL("ScheduleFreeAdamWUpdate", kGPU, make_update<ScheduleFreeAdamWRule>);

}  // namespace
}  // namespace cohort::kernels::cuda
