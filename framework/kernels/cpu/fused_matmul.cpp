#include <string>

#include "cohort/core/kernel.h"
#include "cohort/core/mixed_types.h"
#include "cohort/core/scratch.h"
#include "cohort/kernels/cpu/epilogue.h"
#include "cohort/kernels/cpu/gemm.h"
#include "cohort/kernels/cpu/matmul_plan.h"
#include "cohort/kernels/cpu/visit.h"

namespace cohort {
namespace {

Scratch rounded_bias;

// The bias as elements of T: where it lies, or rounded from float32.
template <class T>
const T* bias_of(const KernelIO& io, bool wide, std::int64_t count) {
  if (!wide) return io.in<T>(2);
  T* rounded = rounded_bias.get<T>(count);
  for (std::int64_t i = 0; i < count; ++i) rounded[i] = T(io.in<float>(2)[i]);
  return rounded;
}

KernelFn make_fused_matmul(const KernelSpec& spec) {
  return visit_number(compute_type(spec.call(), 0), [&]<class T>(T) -> KernelFn {
    const Epilogue<T> finish(spec.attr<std::string>("activation"), spec.num_inputs() > 2);
    const bool wide_bias = finish.has_bias() && spec.input(2).dtype != dtype_of<T>;
    return [plan = MatMulPlan<T>(spec), finish, wide_bias, columns = spec.output(0).shape.back()](const KernelIO& io) {
      plan.run(io, {&finish, finish.has_bias() ? bias_of<T>(io, wide_bias, columns) : nullptr});
    };
  });
}

COHORT_KERNEL("FusedMatMul", kCPU, make_fused_matmul);

}  // namespace
}  // namespace cohort
