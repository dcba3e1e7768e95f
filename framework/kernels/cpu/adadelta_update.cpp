#include <cmath>

#include "cohort/kernels/cpu/optimizer_update.h"

namespace cohort {
namespace {

KernelFn make_adadelta(const KernelSpec& spec) {
  const double decay = spec.attr<double>("weight_decay"), rho = spec.attr<double>("rho");
  const double epsilon = spec.attr<double>("epsilon");
  return make_update_kernel<2>(spec, [=](const KernelIO& io, const UpdateLayout& at, auto real) {
    using Real = decltype(real);
    const Real rate = static_cast<Real>(*io.in<float>(at.shared(0)));
    return [decay = WeightDecay<Real>(decay, rate), rate, rho = static_cast<Real>(rho),
            part = static_cast<Real>(1.0 - rho), epsilon = static_cast<Real>(epsilon)](
               UpdateGradient<Real> gradient, Real& value, std::array<Real, 2>& slot) {
      decay(value);
      slot[0] = rho * slot[0] + part * (gradient.square);
      const Real scale = std::sqrt(slot[1] + epsilon) / std::sqrt(slot[0] + epsilon);
      slot[1] = rho * slot[1] + part * (scale * scale * gradient.square);
      value -= rate * (scale * gradient);
    };
  });
}

COHORT_KERNEL("AdadeltaUpdate", kCPU, make_adadelta);

}  // namespace
}  // namespace cohort
