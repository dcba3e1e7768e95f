#include <string>

#include "cohort/core/kernel.h"
#include "cohort/kernels/cpu/epilogue.h"
#include "cohort/kernels/cpu/gemm.h"
#include "cohort/kernels/cpu/matmul_plan.h"
#include "cohort/kernels/cpu/visit.h"

namespace cohort {
namespace {

KernelFn make_fused_matmul(const KernelSpec& spec) {
  return visit_number(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    const Epilogue<T> finish(spec.attr<std::string>("activation"), spec.num_inputs() > 2);
    return [plan = MatMulPlan<T>(spec), finish](const KernelIO& io) {
      const T* bias = finish.has_bias() ? io.in<T>(2) : nullptr;
      plan.run(io.in<T>(0), io.in<T>(1), io.out<T>(0), {&finish, bias});
    };
  });
}

COHORT_KERNEL("FusedMatMul", kCPU, make_fused_matmul);

}  // namespace
}  // namespace cohort
