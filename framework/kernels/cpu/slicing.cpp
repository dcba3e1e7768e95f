#include <algorithm>
#include <cstring>
#include <vector>

#include "cohort/core/kernel.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/strided_copy.h"
#include "cohort/kernels/cpu/visit.h"
#include "cohort/kernels/movement_plans.h"

namespace cohort {
namespace {

using kernels::Ranges;
using kernels::ranges_inside_padding;
using kernels::ranges_of_slice;
using kernels::ranges_of_strided_slice;

KernelFn take(const KernelSpec& spec, const Ranges& ranges) {
  return [copy = StridedCopy(spec.input(0).dtype, kernels::plan_take(spec.input(0).shape, ranges))](
             const KernelIO& io) { copy.run(io.inputs[0], io.outputs[0]); };
}

// Zeros everywhere but in the ranges.
KernelFn put(const KernelSpec& spec, const Ranges& ranges) {
  const std::size_t bytes = static_cast<std::size_t>(spec.output_size(0)) * size_of(spec.output(0).dtype);
  return [bytes, copy = StridedCopy(spec.input(0).dtype, kernels::plan_put(spec.output(0).shape, ranges))](
             const KernelIO& io) {
    std::memset(io.outputs[0], 0, bytes);
    copy.run(io.inputs[0], io.outputs[0]);
  };
}

KernelFn make_slice(const KernelSpec& spec) { return take(spec, ranges_of_slice(spec, spec.output(0).shape)); }
KernelFn make_slice_grad(const KernelSpec& spec) { return put(spec, ranges_of_slice(spec, spec.input(0).shape)); }
KernelFn make_strided_slice(const KernelSpec& spec) {
  return take(spec, ranges_of_strided_slice(spec, spec.input(0).shape));
}
KernelFn make_strided_slice_grad(const KernelSpec& spec) {
  return put(spec, ranges_of_strided_slice(spec, spec.output(0).shape));
}
KernelFn make_pad_grad(const KernelSpec& spec) { return take(spec, ranges_inside_padding(spec, spec.output(0).shape)); }

KernelFn make_pad(const KernelSpec& spec) {
  const DType dtype = spec.input(0).dtype;
  const StridedCopy copy(dtype,
                         kernels::plan_put(spec.output(0).shape, ranges_inside_padding(spec, spec.input(0).shape)));
  const std::int64_t count = spec.output_size(0);
  return visit_dtype(dtype, [&]<class T>(T) -> KernelFn {
    const T value = value_as<T>(spec.attr<double>("value"));
    return [=](const KernelIO& io) {
      T* out = io.out<T>(0);
      parallel_for(count, 32768,
                   [=](std::int64_t begin, std::int64_t end) { std::fill(out + begin, out + end, value); });
      copy.run(io.inputs[0], io.outputs[0]);
    };
  });
}

KernelFn make_roll(const KernelSpec& spec) {
  std::vector<StridedCopy> copies;
  for (const kernels::PartCopy& part : kernels::plan_roll(spec)) copies.emplace_back(spec.input(0).dtype, part.plan());
  return [copies](const KernelIO& io) {
    for (const StridedCopy& copy : copies) copy.run(io.inputs[0], io.outputs[0]);
  };
}

COHORT_KERNEL("Slice", kCPU, make_slice);
COHORT_KERNEL("SliceGrad", kCPU, make_slice_grad);
COHORT_KERNEL("StridedSlice", kCPU, make_strided_slice);
COHORT_KERNEL("StridedSliceGrad", kCPU, make_strided_slice_grad);
COHORT_KERNEL("Pad", kCPU, make_pad);
COHORT_KERNEL("PadGrad", kCPU, make_pad_grad);
COHORT_KERNEL("Roll", kCPU, make_roll);

}  // namespace
}  // namespace cohort
