#include "cohort/kernels/cpu/optimizer_update.h"

namespace cohort {
namespace {

KernelFn make_sgd(const KernelSpec& spec) {
  const double decay = spec.attr<double>("weight_decay");
  return make_update_kernel<0>(spec, [decay](const KernelIO& io, const UpdateLayout& at, auto real) {
    using Real = decltype(real);
    const Real rate = static_cast<Real>(*io.in<float>(at.shared(0)));
    return [decay = WeightDecay<Real>(decay, rate), rate](UpdateGradient<Real> gradient, Real& value,
                                                          std::array<Real, 0>&) {
      decay(value);
      value -= gradient * rate;
    };
  });
}

template <bool kNesterov>
KernelFn make_momentum_form(const KernelSpec& spec) {
  const double decay = spec.attr<double>("weight_decay"), momentum = spec.attr<double>("momentum");
  return make_update_kernel<1>(spec, [decay, momentum](const KernelIO& io, const UpdateLayout& at, auto real) {
    using Real = decltype(real);
    const Real rate = static_cast<Real>(*io.in<float>(at.shared(0)));
    return [decay = WeightDecay<Real>(decay, rate), rate, momentum = static_cast<Real>(momentum)](
               UpdateGradient<Real> gradient, Real& value, std::array<Real, 1>& slot) {
      decay(value);
      const Real change = gradient * rate;
      slot[0] = slot[0] * momentum - change;
      value += kNesterov ? slot[0] * momentum - change : slot[0];
    };
  });
}

KernelFn make_momentum(const KernelSpec& spec) {
  return spec.attr<bool>("nesterov") ? make_momentum_form<true>(spec) : make_momentum_form<false>(spec);
}

COHORT_KERNEL("SGDUpdate", kCPU, make_sgd);
COHORT_KERNEL("MomentumUpdate", kCPU, make_momentum);

}  // namespace
}  // namespace cohort
