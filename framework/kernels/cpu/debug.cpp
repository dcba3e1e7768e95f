#include <algorithm>
#include <cmath>
#include <string>

#include "cohort/core/kernel.h"
#include "cohort/kernels/cpu/visit.h"
#include "cohort/kernels/refusals.h"

namespace cohort {
namespace {

KernelFn make_check_numerics(const KernelSpec& spec) {
  const auto message = spec.attr<std::string>("message");
  const std::int64_t size = spec.input_size(0);
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    return [=](const KernelIO& io) {
      const T* x = io.in<T>(0);
      std::int64_t nans = 0, infinities = 0;
      for (std::int64_t i = 0; i < size; ++i) {
        const auto value = static_cast<double>(x[i]);
        nans += std::isnan(value);
        infinities += std::isinf(value);
      }
      if (nans + infinities > 0) refuse_numbers(message, nans, infinities, size);
      if (io.inputs[0] != io.outputs[0]) std::copy_n(x, size, io.out<T>(0));
    };
  });
}

KernelFn make_assert(const KernelSpec& spec) {
  return [size = spec.input_size(0), message = spec.attr<std::string>("message")](const KernelIO& io) {
    const bool* condition = io.in<bool>(0);
    const std::int64_t failed = std::count(condition, condition + size, false);
    if (failed > 0) refuse_assertion(message, failed, size);
    if (io.inputs[0] != io.outputs[0]) std::copy_n(condition, size, io.out<bool>(0));
  };
}

COHORT_KERNEL("CheckNumerics", kCPU, make_check_numerics);
COHORT_KERNEL("Assert", kCPU, make_assert);

}  // namespace
}  // namespace cohort
