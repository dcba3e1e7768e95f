#include <cmath>

#include "cohort/kernels/cpu/optimizer_update.h"

namespace cohort {
namespace {

// kApart: what stands in the place of squares are magnitudes.
template <bool kApart>
KernelFn make_adamax_form(const KernelSpec& spec) {
  const double decay = spec.attr<double>("weight_decay"), beta_1 = spec.attr<double>("beta_1");
  const double beta_2 = spec.attr<double>("beta_2"), epsilon = spec.attr<double>("epsilon");
  return make_update_kernel<2>(spec, [=](const KernelIO& io, const UpdateLayout& at, auto real) {
    using Real = decltype(real);
    const Real rate = static_cast<Real>(*io.in<float>(at.shared(0)));
    const Real step = static_cast<Real>(*io.in<std::int64_t>(at.shared(1)) + 1);
    const Real rest = Real{1} - std::pow(static_cast<Real>(beta_1), step);
    return [decay = WeightDecay<Real>(decay, rate), rate, rest, part = static_cast<Real>(1.0 - beta_1),
            beta_2 = static_cast<Real>(beta_2), epsilon = static_cast<Real>(epsilon)](
               UpdateGradient<Real> gradient, Real& value, std::array<Real, 2>& slot) {
      decay(value);
      slot[0] += (gradient - slot[0]) * part;
      const Real faded = beta_2 * slot[1], size = kApart ? gradient.square : std::abs(gradient.value);
      slot[1] = faded > size ? faded : size;
      value -= rate * slot[0] / (rest * (slot[1] + epsilon));
    };
  });
}

KernelFn make_adamax(const KernelSpec& spec) {
  return UpdateLayout(spec.call()).has_squares() ? make_adamax_form<true>(spec) : make_adamax_form<false>(spec);
}

COHORT_KERNEL("AdamaxUpdate", kCPU, make_adamax);

}  // namespace
}  // namespace cohort
