#include "cohort/kernels/cpu/element_types.h"
#include "cohort/kernels/cpu/elementwise_loops.h"
#include "cohort/kernels/cpu/visit.h"

namespace cohort::kernels {
namespace {

template <class From, class To>
void cast_loop(const void* x_memory, void* y_memory, std::int64_t n) {
  const From* x = static_cast<const From*>(x_memory);
  To* y = static_cast<To*>(y_memory);
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_same_v<To, bool>) {
      y[i] = static_cast<Compute<From>>(x[i]) != 0;
    } else if constexpr (sizeof(To) == 1 && std::is_floating_point_v<Compute<From>>) {
      // Straight to 8 bits, the vector's instructions and the tail's would treat what does not fit differently.
      y[i] = static_cast<To>(static_cast<std::int32_t>(static_cast<Compute<From>>(x[i])));
    } else {
      y[i] = static_cast<To>(static_cast<Compute<To>>(static_cast<Compute<From>>(x[i])));
    }
  }
}

KernelFn make_cast(const KernelSpec& spec) {
  return unary_kernel(spec, find_cast_loop(spec.input(0).dtype, spec.output(0).dtype));
}

}  // namespace

UnaryLoop find_cast_loop(DType from, DType to) {
  return visit_dtype(from, [to](auto x) {
    const auto loop_to = [](auto y) -> UnaryLoop { return cast_loop<decltype(x), decltype(y)>; };
    // Fused programs want all casts from and to floating types beside their floating loops.
    if constexpr (is_floating(dtype_of<decltype(x)>)) {
      return visit_dtype(to, loop_to);
    } else {
      return visit_plain(to, loop_to);
    }
  });
}

COHORT_KERNEL("Cast", kCPU, make_cast);

}  // namespace cohort::kernels
