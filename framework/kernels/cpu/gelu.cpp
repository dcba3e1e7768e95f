#include <cmath>

#include "cohort/core/kernel.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/softmax_rows.h"
#include "cohort/kernels/cpu/visit.h"
#include "cohort/kernels/scalar_math.h"

namespace cohort {
namespace {

template <class C>
struct ValueAndSlope {
  C value, slope;
};

// The normal distribution's tail is its density times a smooth function: a polynomial in 1 / (1 + |x| * 0.23), right to
// 5e-8. So one exponential serves both results.
inline ValueAndSlope<float> gelu_at(float x) {
  const float t = 1.0f / fn::multiply_add(fn::absolute(x), 0.23f, 1.0f);
  float p = -0x1.41671ep-4f;
  p = fn::multiply_add(p, t, 0x1.296258p-2f);
  p = fn::multiply_add(p, t, -0x1.1ccd5ap-2f);
  p = fn::multiply_add(p, t, 0x1.34b550p-2f);
  p = fn::multiply_add(p, t, -0x1.0daebep-5f);
  p = fn::multiply_add(p, t, 0x1.e98794p-4f);
  p = fn::multiply_add(p, t, 0x1.5f48f0p-4f);
  p = fn::multiply_add(p, t, 0x1.7a61d6p-4f);
  p = fn::multiply_add(p, t, -0x1.d1c6b6p-16f);
  const float density = fn::exp(-0.5f * x * x), tail = density * p;
  const float below = fn::select(x < 0.0f, tail, 1.0f - tail);
  return {x * below, fn::multiply_add(x * density, 0.39894228f, below)};
}
inline ValueAndSlope<double> gelu_at(double x) {
  const double below = 0.5 * std::erfc(x * -0.7071067811865476);
  return {x * below, below + x * std::exp(-0.5 * x * x) * 0.3989422804014327};
}

KernelFn make_gelu(const KernelSpec& spec) {
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    return [count = spec.input_size(0)](const KernelIO& io) {
      const T* __restrict x = io.in<T>(0);
      T* __restrict y = io.out<T>(0), * __restrict slope = io.out<T>(1);
      parallel_for(count, 16384, [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const auto at = gelu_at(ComputeType<T>(x[i]));
          y[i] = T(at.value);
          slope[i] = T(at.slope);
        }
      });
    };
  });
}

COHORT_KERNEL("Gelu", kCPU, make_gelu);

}  // namespace
}  // namespace cohort
