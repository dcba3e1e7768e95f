#include <cmath>

#include "cohort/kernels/cpu/optimizer_update.h"

namespace cohort {
namespace {

KernelFn make_ftrl(const KernelSpec& spec) {
  const double decay = spec.attr<double>("weight_decay"), power = -spec.attr<double>("learning_rate_power");
  const double l1 = spec.attr<double>("l1_regularization_strength"), beta = spec.attr<double>("beta");
  const double l2 = spec.attr<double>("l2_regularization_strength");
  const double shrinkage = 2.0 * spec.attr<double>("l2_shrinkage_regularization_strength");
  return make_update_kernel<2>(spec, [=](const KernelIO& io, const UpdateLayout& at, auto real) {
    using Real = decltype(real);
    const Real rate = static_cast<Real>(*io.in<float>(at.shared(0)));
    const Real l2_all = static_cast<Real>(l2) + static_cast<Real>(beta) / (Real{2} * rate);
    const auto raised = [power = static_cast<Real>(power)](Real x) {
      return power == static_cast<Real>(0.5) ? std::sqrt(x) : std::pow(x, power);
    };
    return [decay = WeightDecay<Real>(decay, rate), rate, raised, l1 = static_cast<Real>(l1),
            l2_twice = Real{2} * l2_all, shrinkage = static_cast<Real>(shrinkage)](
               UpdateGradient<Real> gradient, Real& value, std::array<Real, 2>& slot) {
      decay(value);
      const Real before = raised(slot[0]);
      slot[0] += gradient.square;
      const Real now = raised(slot[0]);
      slot[1] += gradient + shrinkage * value - (now - before) / rate * value;
      const Real clipped = slot[1] < -l1 ? -l1 : slot[1] > l1 ? l1 : slot[1];
      value = (clipped - slot[1]) / (now / rate + l2_twice);
    };
  });
}

COHORT_KERNEL("FtrlUpdate", kCPU, make_ftrl);

}  // namespace
}  // namespace cohort
