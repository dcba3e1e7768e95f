#include <cmath>

#include "cohort/kernels/cpu/optimizer_update.h"

namespace cohort {
namespace {

template <bool kAmsgrad>
KernelFn make_adam_form(const KernelSpec& spec) {
  constexpr int kSlots = kAmsgrad ? 3 : 2;
  const double decay = spec.attr<double>("weight_decay"), beta_1 = spec.attr<double>("beta_1");
  const double beta_2 = spec.attr<double>("beta_2"), epsilon = spec.attr<double>("epsilon");
  const double ratio = spec.attr<double>("learning_rate_ratio");
  return make_update_kernel<kSlots>(spec, [=](const KernelIO& io, const UpdateLayout& at, auto real) {
    using Real = decltype(real);
    const Real rate = static_cast<Real>(*io.in<float>(at.shared(0)));
    const Real step = static_cast<Real>(*io.in<std::int64_t>(at.shared(1)) + 1);
    const Real power_1 = std::pow(static_cast<Real>(beta_1), step), power_2 = std::pow(static_cast<Real>(beta_2), step);
    const Real alpha = rate * static_cast<Real>(ratio) * std::sqrt(Real{1} - power_2) / (Real{1} - power_1);
    return [decay = WeightDecay<Real>(decay, rate), alpha, part_1 = static_cast<Real>(1.0 - beta_1),
            part_2 = static_cast<Real>(1.0 - beta_2), epsilon = static_cast<Real>(epsilon)](
               UpdateGradient<Real> gradient, Real& value, std::array<Real, kSlots>& slot) {
      decay(value);
      slot[0] += (gradient - slot[0]) * part_1;
      slot[1] += (gradient.square - slot[1]) * part_2;
      Real velocity = slot[1];
      if constexpr (kAmsgrad) {
        slot[2] = slot[2] > velocity ? slot[2] : velocity;
        velocity = slot[2];
      }
      value -= slot[0] * alpha / (std::sqrt(velocity) + epsilon);
    };
  });
}

KernelFn make_adam(const KernelSpec& spec) {
  return spec.attr<bool>("amsgrad") ? make_adam_form<true>(spec) : make_adam_form<false>(spec);
}

COHORT_KERNEL("AdamUpdate", kCPU, make_adam);

}  // namespace
}  // namespace cohort
