#include <vector>

#include "cohort/core/kernel.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/gemm.h"
#include "cohort/kernels/cpu/matmul_plan.h"
#include "cohort/kernels/cpu/visit.h"

namespace cohort {
namespace {

KernelFn make_matmul(const KernelSpec& spec) {
  return visit_number(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    return [plan = MatMulPlan<T>(spec)](const KernelIO& io) { plan.run(io); };
  });
}

COHORT_KERNEL("MatMul", kCPU, make_matmul);

}  // namespace
}  // namespace cohort
