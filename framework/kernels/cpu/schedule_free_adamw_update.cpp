#include <algorithm>
#include <cmath>

#include "cohort/kernels/cpu/optimizer_update.h"

namespace cohort {
namespace {

KernelFn make_schedule_free_adamw(const KernelSpec& spec) {
  const double decay = spec.attr<double>("weight_decay"), beta_1 = spec.attr<double>("beta_1");
  const double beta_2 = spec.attr<double>("beta_2"), epsilon = spec.attr<double>("epsilon");
  const auto warmup = spec.attr<std::int64_t>("warmup_steps");
  return make_update_kernel<2>(spec, [=](const KernelIO& io, const UpdateLayout& at, auto real) {
    using Real = decltype(real);
    const Real rate = static_cast<Real>(*io.in<float>(at.shared(0)));
    const Real step = static_cast<Real>(*io.in<std::int64_t>(at.shared(1)) + 1);
    const Real beta_2_real = static_cast<Real>(beta_2);
    Real warm = rate;
    if (warmup > 0) warm *= std::min(step / static_cast<Real>(warmup), Real{1});
    return
        [decay = WeightDecay<Real>(decay, rate), warm, beta_1 = static_cast<Real>(beta_1),
         part_2 = Real{1} - beta_2_real, rest = Real{1} - std::pow(beta_2_real, step), weight = Real{1} / step,
         epsilon = static_cast<Real>(epsilon)](UpdateGradient<Real> gradient, Real& value, std::array<Real, 2>& slot) {
          decay(value);
          slot[1] += (gradient.square - slot[1]) * part_2;
          slot[0] -= warm * gradient / (std::sqrt(slot[1] / rest) + epsilon);
          // Keras takes the average apart by the iterate it has already moved.
          const Real average = (value - (Real{1} - beta_1) * slot[0]) / beta_1;
          const Real moved = (Real{1} - weight) * average + weight * slot[0];
          value = (Real{1} - beta_1) * slot[0] + beta_1 * moved;
        };
  });
}

COHORT_KERNEL("ScheduleFreeAdamWUpdate", kCPU, make_schedule_free_adamw);

}  // namespace
}  // namespace cohort
