#include <cmath>

#include "cohort/kernels/cpu/optimizer_update.h"

namespace cohort {
namespace {

template <bool kMomentum, bool kCentered>
KernelFn make_rmsprop_form(const KernelSpec& spec) {
  constexpr int kSlots = 1 + kMomentum + kCentered;
  const double decay = spec.attr<double>("weight_decay"), rho = spec.attr<double>("rho");
  const double momentum = spec.attr<double>("momentum"), epsilon = spec.attr<double>("epsilon");
  return make_update_kernel<kSlots>(spec, [=](const KernelIO& io, const UpdateLayout& at, auto real) {
    using Real = decltype(real);
    const Real rate = static_cast<Real>(*io.in<float>(at.shared(0)));
    return [decay = WeightDecay<Real>(decay, rate), rate, rho = static_cast<Real>(rho),
            part = static_cast<Real>(1.0 - rho), momentum = static_cast<Real>(momentum),
            epsilon = static_cast<Real>(epsilon)](UpdateGradient<Real> gradient, Real& value,
                                                  std::array<Real, kSlots>& slot) {
      decay(value);
      slot[0] = rho * slot[0] + part * (gradient.square);
      Real denominator = slot[0];
      if constexpr (kCentered) {
        Real& average = slot.back();
        average = rho * average + part * gradient;
        denominator -= average * average;
      }
      Real increment = rate * gradient / std::sqrt(denominator + epsilon);
      if constexpr (kMomentum) {
        slot[1] = momentum * slot[1] + increment;
        increment = slot[1];
      }
      value -= increment;
    };
  });
}

KernelFn make_rmsprop(const KernelSpec& spec) {
  const bool momentum = spec.attr<double>("momentum") > 0.0, centered = spec.attr<bool>("centered");
  if (momentum) return centered ? make_rmsprop_form<true, true>(spec) : make_rmsprop_form<true, false>(spec);
  return centered ? make_rmsprop_form<false, true>(spec) : make_rmsprop_form<false, false>(spec);
}

COHORT_KERNEL("RMSpropUpdate", kCPU, make_rmsprop);

}  // namespace
}  // namespace cohort
