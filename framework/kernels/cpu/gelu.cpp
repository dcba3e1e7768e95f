#include "cohort/core/kernel.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/softmax_rows.h"
#include "cohort/kernels/cpu/visit.h"
#include "cohort/kernels/gelu_math.h"

namespace cohort {
namespace {

template <class Form>
KernelFn make_gelu_of(const KernelSpec& spec) {
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    return [count = spec.input_size(0)](const KernelIO& io) {
      const T* __restrict x = io.in<T>(0);
      T* __restrict y = io.out<T>(0), * __restrict slope = io.out<T>(1);
      parallel_for(count, 16384, [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const auto at = Form()(ComputeType<T>(x[i]));
          y[i] = T(at.value);
          slope[i] = T(at.slope);
        }
      });
    };
  });
}

KernelFn make_gelu(const KernelSpec& spec) {
  return spec.attr<bool>("approximate") ? make_gelu_of<fn::GeluByTanh>(spec) : make_gelu_of<fn::GeluByErf>(spec);
}

COHORT_KERNEL("Gelu", kCPU, make_gelu);

}  // namespace
}  // namespace cohort
