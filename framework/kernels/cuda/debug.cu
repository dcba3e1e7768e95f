#include <algorithm>
#include <string>

#include "cohort/kernels/cuda/groups.h"
#include "cohort/kernels/cuda/launch.h"
#include "cohort/kernels/cuda/typed_elements.h"
#include "cohort/kernels/refusals.h"

namespace cohort::kernels::cuda {
namespace {

constexpr int kCheckThreads = 512;
constexpr std::int64_t kMostBlocks = 528;

// What is wrong with elements; for an assertion only the first counts.
struct Faults {
  std::int64_t first, second;
};

struct FaultReport {
  cohort::cuda::ErrorRecord* errors;
  unsigned int site;

  __device__ void operator()(const Faults& faults) const {
    if (faults.first + faults.second > 0) cohort::cuda::report(errors, site, faults.first, faults.second);
  }
};

__device__ Faults faults_of(bool condition) { return {condition ? 0 : 1, 0}; }
template <class T>
__device__ Faults faults_of(T x) {
  const auto value = widened(x);
  return {value != value ? 1 : 0, fn::absolute(value) == static_cast<decltype(value)>(fn::infinity()) ? 1 : 0};
}

__device__ Faults sum_block(Faults faults, Faults* shared) {
  return merge_group(faults, kCheckThreads, shared, [](const Faults& a, const Faults& b) {
    return Faults{a.first + b.first, a.second + b.second};
  });
}

// Copies the elements and counts what is wrong with them.
template <class T>
__global__ void __launch_bounds__(kCheckThreads)
    copy_and_count(const T* x, T* y, std::int64_t n, Faults* parts, FaultReport report) {
  __shared__ Faults shared[kMostWarps];
  Faults faults{0, 0};
  COHORT_EACH(i, n) {
    const T value = x[i];
    const Faults more = faults_of(value);
    faults = {faults.first + more.first, faults.second + more.second};
    y[i] = value;
  }
  faults = sum_block(faults, shared);
  if (threadIdx.x > 0) return;
  if (parts) {
    parts[blockIdx.x] = faults;
  } else {
    report(faults);
  }
}

__global__ void __launch_bounds__(kCheckThreads) report_parts(const Faults* parts, int count, FaultReport report) {
  __shared__ Faults shared[kMostWarps];
  Faults faults{0, 0};
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kCheckThreads) {
    faults = {faults.first + parts[i].first, faults.second + parts[i].second};
  }
  faults = sum_block(faults, shared);
  if (threadIdx.x == 0) report(faults);
}

template <class T>
KernelFn make_checked_copy(const KernelSpec& spec, unsigned int site) {
  constexpr std::int64_t kElementsOfBlock = kCheckThreads * 16;
  auto* device = &cohort::cuda::device_of(spec);
  const std::int64_t n = spec.input_size(0);
  const auto blocks =
      static_cast<int>(std::clamp<std::int64_t>((n + kElementsOfBlock - 1) / kElementsOfBlock, 1, kMostBlocks));
  if (blocks > 1) device->reserve_workspace(static_cast<std::size_t>(blocks) * sizeof(Faults));
  return [=, report = FaultReport{device->error_record(), site}](const KernelIO& io) {
    if (n == 0) return;
    auto* parts = blocks > 1 ? static_cast<Faults*>(device->workspace()) : nullptr;
    copy_and_count<T><<<blocks, kCheckThreads, 0, stream_of(io)>>>(io.in<T>(0), io.out<T>(0), n, parts, report);
    cohort::cuda::check(cudaGetLastError());
    if (!parts) return;
    report_parts<<<1, kCheckThreads, 0, stream_of(io)>>>(parts, blocks, report);
    cohort::cuda::check(cudaGetLastError());
  };
}

KernelFn make_check_numerics(const KernelSpec& spec) {
  const unsigned int site = cohort::cuda::add_check(
      spec, [message = spec.attr<std::string>("message"), size = spec.input_size(0)](
                std::int64_t nans, std::int64_t infinities) { refuse_numbers(message, nans, infinities, size); });
  return visit_floating(spec.input(0).dtype,
                        [&](auto type) { return make_checked_copy<typename decltype(type)::type>(spec, site); });
}

KernelFn make_assert(const KernelSpec& spec) {
  const unsigned int site = cohort::cuda::add_check(
      spec, [message = spec.attr<std::string>("message"), size = spec.input_size(0)](
                std::int64_t failed, std::int64_t) { refuse_assertion(message, failed, size); });
  return make_checked_copy<bool>(spec, site);
}

COHORT_KERNEL("CheckNumerics", kGPU, make_check_numerics);
COHORT_KERNEL("Assert", kGPU, make_assert);

}  // namespace
}  // namespace cohort::kernels::cuda
