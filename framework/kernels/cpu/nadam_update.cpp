#include <cmath>

#include "cohort/kernels/cpu/optimizer_update.h"

namespace cohort {
namespace {

KernelFn make_nadam(const KernelSpec& spec) {
  const double decay = spec.attr<double>("weight_decay"), beta_1 = spec.attr<double>("beta_1");
  const double beta_2 = spec.attr<double>("beta_2"), epsilon = spec.attr<double>("epsilon");
  return make_update_kernel<2>(spec, [=](const KernelIO& io, const UpdateLayout& at, auto real) {
    using Real = decltype(real);
    const Real rate = static_cast<Real>(*io.in<float>(at.shared(0)));
    const Real step = static_cast<Real>(*io.in<std::int64_t>(at.shared(1)) + 1);
    const Real product = static_cast<Real>(*io.in<float>(at.shared(2)));
    const Real beta_1_real = static_cast<Real>(beta_1), beta_2_real = static_cast<Real>(beta_2);
    const auto factor = [&](Real at) {
      return beta_1_real * (Real{1} - Real{0.5} * std::pow(static_cast<Real>(0.96), at));
    };
    const Real now = factor(step), next = factor(step + Real{1});
    return [decay = WeightDecay<Real>(decay, rate), rate, now, next, left = Real{1} - product,
            left_next = Real{1} - product * next, part_1 = Real{1} - beta_1_real, part_2 = Real{1} - beta_2_real,
            rest = Real{1} - std::pow(beta_2_real, step), epsilon = static_cast<Real>(epsilon)](
               UpdateGradient<Real> gradient, Real& value, std::array<Real, 2>& slot) {
      decay(value);
      slot[0] += (gradient - slot[0]) * part_1;
      slot[1] += (gradient.square - slot[1]) * part_2;
      const Real momentum = next * slot[0] / left_next + (Real{1} - now) * gradient / left;
      value -= momentum * rate / (std::sqrt(slot[1] / rest) + epsilon);
    };
  });
}

COHORT_KERNEL("NadamUpdate", kCPU, make_nadam);

}  // namespace
}  // namespace cohort
