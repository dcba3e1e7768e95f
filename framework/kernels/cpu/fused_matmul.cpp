#include <string>
#include <type_traits>

#include "cohort/core/kernel.h"
#include "cohort/kernels/cpu/gemm.h"
#include "cohort/kernels/cpu/matmul_plan.h"
#include "cohort/kernels/cpu/visit.h"
#include "cohort/kernels/functors.h"

namespace cohort {
namespace {

struct NoActivation {
  template <class T>
  T operator()(T x) const {
    return x;
  }
};

// Adds the bias (may be null) and applies the activation, rounding between the two as the separate ops do.
template <class Activation, class T>
void finish_row(T* row, const T* bias, std::int64_t count) {
  using Compute = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;
  if (!bias) {
    for (std::int64_t j = 0; j < count; ++j) row[j] = T(Activation{}(Compute(row[j])));
    return;
  }
  for (std::int64_t j = 0; j < count; ++j) {
    const T sum = T(fn::Add{}(Compute(row[j]), Compute(bias[j])));
    row[j] = T(Activation{}(Compute(sum)));
  }
}

template <class T>
using FinishRow = void (*)(T*, const T*, std::int64_t);

template <class T>
FinishRow<T> finish_for(const std::string& activation) {
  if (activation == "Relu") return finish_row<fn::Relu, T>;
  if (activation == "Relu6") return finish_row<fn::Relu6, T>;
  if constexpr (!std::is_integral_v<T>) {
    if (activation == "Sigmoid") return finish_row<fn::Sigmoid, T>;
    if (activation == "Tanh") return finish_row<fn::Tanh, T>;
    if (activation == "Softplus") return finish_row<fn::Softplus, T>;
  }
  return finish_row<NoActivation, T>;
}

KernelFn make_fused_matmul(const KernelSpec& spec) {
  return visit_number(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    const bool has_bias = spec.num_inputs() > 2;
    const auto activation = spec.attr<std::string>("activation");
    const FinishRow<T> finish = has_bias || !activation.empty() ? finish_for<T>(activation) : nullptr;
    const std::int64_t columns = spec.output(0).shape.back();
    return [plan = MatMulPlan<T>(spec), has_bias, finish, columns](const KernelIO& io) {
      const T* bias = has_bias ? io.in<T>(2) : nullptr;
      plan.run(io.in<T>(0), io.in<T>(1), io.out<T>(0), [&](const typename Gemm<T>::Block& block, T* c) {
        if (!finish) return;
        for (std::int64_t i = block.row; i < block.row + block.rows; ++i) {
          finish(c + i * columns + block.col, bias ? bias + block.col : nullptr, block.cols);
        }
      });
    };
  });
}

COHORT_KERNEL("FusedMatMul", kCPU, make_fused_matmul);

}  // namespace
}  // namespace cohort
