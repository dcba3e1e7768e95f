#include <algorithm>

#include "cohort/core/kernel.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/visit.h"

namespace cohort {
namespace {

constexpr std::int64_t kGrain = 32768;

// A kernel that computes each element from its index alone.
template <class ValueAt>
KernelFn by_index(DType dtype, std::int64_t count, ValueAt value_at) {
  return visit_dtype(dtype, [&]<class T>(T) -> KernelFn {
    return [=](const KernelIO& io) {
      T* out = io.out<T>(0);
      parallel_for(count, kGrain, [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) out[i] = value_as<T>(value_at(i));
      });
    };
  });
}

KernelFn make_fill(const KernelSpec& spec) {
  return by_index(spec.output(0).dtype, spec.output_size(0),
                  [value = spec.attr<double>("value")](std::int64_t) { return value; });
}

KernelFn make_range(const KernelSpec& spec) {
  const double start = spec.attr<double>("start"), step = spec.attr<double>("step");
  return by_index(spec.output(0).dtype, spec.output_size(0),
                  [=](std::int64_t i) { return start + static_cast<double>(i) * step; });
}

KernelFn make_linspace(const KernelSpec& spec) {
  const double start = spec.attr<double>("start"), stop = spec.attr<double>("stop");
  const std::int64_t count = spec.output_size(0);
  const double step = count > 1 ? (stop - start) / static_cast<double>(count - 1) : 0;
  return by_index(spec.output(0).dtype, count, [=](std::int64_t i) {
    return i > 0 && i == count - 1 ? stop : start + static_cast<double>(i) * step;
  });
}

KernelFn make_eye(const KernelSpec& spec) {
  const std::int64_t columns = std::max<std::int64_t>(1, spec.output(0).shape[1]), k = spec.attr<std::int64_t>("k");
  return by_index(spec.output(0).dtype, spec.output_size(0),
                  [=](std::int64_t i) { return i % columns - i / columns == k ? 1.0 : 0.0; });
}

COHORT_KERNEL("Fill", kCPU, make_fill);
COHORT_KERNEL("FullLike", kCPU, make_fill);
COHORT_KERNEL("ZerosLike", kCPU, make_fill);
COHORT_KERNEL("OnesLike", kCPU, make_fill);
COHORT_KERNEL("Range", kCPU, make_range);
COHORT_KERNEL("Linspace", kCPU, make_linspace);
COHORT_KERNEL("Eye", kCPU, make_eye);

}  // namespace
}  // namespace cohort
