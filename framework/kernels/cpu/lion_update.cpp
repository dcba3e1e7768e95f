#include "cohort/kernels/cpu/optimizer_update.h"

namespace cohort {
namespace {

KernelFn make_lion(const KernelSpec& spec) {
  const double decay = spec.attr<double>("weight_decay");
  const double beta_1 = spec.attr<double>("beta_1"), beta_2 = spec.attr<double>("beta_2");
  return make_update_kernel<1>(spec, [=](const KernelIO& io, const UpdateLayout& at, auto real) {
    using Real = decltype(real);
    const Real rate = static_cast<Real>(*io.in<float>(at.shared(0)));
    return [decay = WeightDecay<Real>(decay, rate), rate, beta_1 = static_cast<Real>(beta_1),
            beta_2 = static_cast<Real>(beta_2)](UpdateGradient<Real> gradient, Real& value, std::array<Real, 1>& slot) {
      decay(value);
      const Real direction = slot[0] * beta_1 + gradient * (Real{1} - beta_1);
      value -= direction > Real{0} ? rate : direction < Real{0} ? -rate : rate * direction;  // NaN stays NaN
      slot[0] = slot[0] * beta_2 + gradient * (Real{1} - beta_2);
    };
  });
}

COHORT_KERNEL("LionUpdate", kCPU, make_lion);

}  // namespace
}  // namespace cohort
