#include <cmath>

#include "cohort/kernels/cpu/optimizer_update.h"

namespace cohort {
namespace {

KernelFn make_adagrad(const KernelSpec& spec) {
  const double decay = spec.attr<double>("weight_decay"), epsilon = spec.attr<double>("epsilon");
  return make_update_kernel<1>(spec, [=](const KernelIO& io, const UpdateLayout& at, auto real) {
    using Real = decltype(real);
    const Real rate = static_cast<Real>(*io.in<float>(at.shared(0)));
    return [decay = WeightDecay<Real>(decay, rate), rate, epsilon = static_cast<Real>(epsilon)](
               UpdateGradient<Real> gradient, Real& value, std::array<Real, 1>& slot) {
      decay(value);
      slot[0] += gradient.square;
      value -= rate * gradient / std::sqrt(slot[0] + epsilon);
    };
  });
}

COHORT_KERNEL("AdagradUpdate", kCPU, make_adagrad);

}  // namespace
}  // namespace cohort
