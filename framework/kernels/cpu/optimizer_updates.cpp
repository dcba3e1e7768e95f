#include <algorithm>
#include <cmath>

#include "cohort/kernels/cpu/optimizer_update.h"

// Every rule computes as Keras does in the variable's type, operation by operation, so that a long training follows the
// same path.

namespace cohort {
namespace {

// Weight decay comes first, on its own, as Keras assigns it before the update.
template <class Real>
struct Decay {
  Decay(double decay, Real learning_rate) : decay(static_cast<Real>(decay)), rate(learning_rate) {}
  void operator()(Real& value) const {
    if (decay != Real{0}) value -= value * decay * rate;
  }
  Real decay, rate;
};

KernelFn make_sgd(const KernelSpec& spec) {
  const double decay = spec.attr<double>("weight_decay");
  return make_update_kernel<0>(spec, [decay](const KernelIO& io, int shared, auto real) {
    using Real = decltype(real);
    const Real rate = static_cast<Real>(*io.in<float>(shared));
    return [decay = Decay<Real>(decay, rate), rate](UpdateGradient<Real> gradient, Real& value, std::array<Real, 0>&) {
      decay(value);
      value -= gradient * rate;
    };
  });
}

template <bool kNesterov>
KernelFn make_momentum_form(const KernelSpec& spec) {
  const double decay = spec.attr<double>("weight_decay"), momentum = spec.attr<double>("momentum");
  return make_update_kernel<1>(spec, [decay, momentum](const KernelIO& io, int shared, auto real) {
    using Real = decltype(real);
    const Real rate = static_cast<Real>(*io.in<float>(shared));
    return [decay = Decay<Real>(decay, rate), rate, momentum = static_cast<Real>(momentum)](
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

template <bool kAmsgrad>
KernelFn make_adam_form(const KernelSpec& spec) {
  constexpr int kSlots = kAmsgrad ? 3 : 2;
  const double decay = spec.attr<double>("weight_decay"), beta_1 = spec.attr<double>("beta_1");
  const double beta_2 = spec.attr<double>("beta_2"), epsilon = spec.attr<double>("epsilon");
  const double ratio = spec.attr<double>("learning_rate_ratio");
  return make_update_kernel<kSlots>(spec, [=](const KernelIO& io, int shared, auto real) {
    using Real = decltype(real);
    const Real rate = static_cast<Real>(*io.in<float>(shared));
    const Real step = static_cast<Real>(*io.in<std::int64_t>(shared + 1) + 1);
    const Real power_1 = std::pow(static_cast<Real>(beta_1), step), power_2 = std::pow(static_cast<Real>(beta_2), step);
    const Real alpha = rate * static_cast<Real>(ratio) * std::sqrt(Real{1} - power_2) / (Real{1} - power_1);
    return [decay = Decay<Real>(decay, rate), alpha, part_1 = static_cast<Real>(1.0 - beta_1),
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

template <bool kMomentum, bool kCentered>
KernelFn make_rmsprop_form(const KernelSpec& spec) {
  constexpr int kSlots = 1 + kMomentum + kCentered;
  const double decay = spec.attr<double>("weight_decay"), rho = spec.attr<double>("rho");
  const double momentum = spec.attr<double>("momentum"), epsilon = spec.attr<double>("epsilon");
  return make_update_kernel<kSlots>(spec, [=](const KernelIO& io, int shared, auto real) {
    using Real = decltype(real);
    const Real rate = static_cast<Real>(*io.in<float>(shared));
    return [decay = Decay<Real>(decay, rate), rate, rho = static_cast<Real>(rho), part = static_cast<Real>(1.0 - rho),
            momentum = static_cast<Real>(momentum), epsilon = static_cast<Real>(epsilon)](
               UpdateGradient<Real> gradient, Real& value, std::array<Real, kSlots>& slot) {
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

KernelFn make_adagrad(const KernelSpec& spec) {
  const double decay = spec.attr<double>("weight_decay"), epsilon = spec.attr<double>("epsilon");
  return make_update_kernel<1>(spec, [=](const KernelIO& io, int shared, auto real) {
    using Real = decltype(real);
    const Real rate = static_cast<Real>(*io.in<float>(shared));
    return [decay = Decay<Real>(decay, rate), rate, epsilon = static_cast<Real>(epsilon)](
               UpdateGradient<Real> gradient, Real& value, std::array<Real, 1>& slot) {
      decay(value);
      slot[0] += gradient.square;
      value -= rate * gradient / std::sqrt(slot[0] + epsilon);
    };
  });
}

// kApart: what stands in the place of squares are magnitudes.
template <bool kApart>
KernelFn make_adamax_form(const KernelSpec& spec) {
  const double decay = spec.attr<double>("weight_decay"), beta_1 = spec.attr<double>("beta_1");
  const double beta_2 = spec.attr<double>("beta_2"), epsilon = spec.attr<double>("epsilon");
  return make_update_kernel<2>(spec, [=](const KernelIO& io, int shared, auto real) {
    using Real = decltype(real);
    const Real rate = static_cast<Real>(*io.in<float>(shared));
    const Real step = static_cast<Real>(*io.in<std::int64_t>(shared + 1) + 1);
    const Real rest = Real{1} - std::pow(static_cast<Real>(beta_1), step);
    return [decay = Decay<Real>(decay, rate), rate, rest, part = static_cast<Real>(1.0 - beta_1),
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
  return spec.attr<bool>("squares") ? make_adamax_form<true>(spec) : make_adamax_form<false>(spec);
}

KernelFn make_nadam(const KernelSpec& spec) {
  const double decay = spec.attr<double>("weight_decay"), beta_1 = spec.attr<double>("beta_1");
  const double beta_2 = spec.attr<double>("beta_2"), epsilon = spec.attr<double>("epsilon");
  return make_update_kernel<2>(spec, [=](const KernelIO& io, int shared, auto real) {
    using Real = decltype(real);
    const Real rate = static_cast<Real>(*io.in<float>(shared));
    const Real step = static_cast<Real>(*io.in<std::int64_t>(shared + 1) + 1);
    const Real product = static_cast<Real>(*io.in<float>(shared + 2));
    const Real beta_1_real = static_cast<Real>(beta_1), beta_2_real = static_cast<Real>(beta_2);
    const auto factor = [&](Real at) {
      return beta_1_real * (Real{1} - Real{0.5} * std::pow(static_cast<Real>(0.96), at));
    };
    const Real now = factor(step), next = factor(step + Real{1});
    return [decay = Decay<Real>(decay, rate), rate, now, next, left = Real{1} - product,
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

KernelFn make_adadelta(const KernelSpec& spec) {
  const double decay = spec.attr<double>("weight_decay"), rho = spec.attr<double>("rho");
  const double epsilon = spec.attr<double>("epsilon");
  return make_update_kernel<2>(spec, [=](const KernelIO& io, int shared, auto real) {
    using Real = decltype(real);
    const Real rate = static_cast<Real>(*io.in<float>(shared));
    return
        [decay = Decay<Real>(decay, rate), rate, rho = static_cast<Real>(rho), part = static_cast<Real>(1.0 - rho),
         epsilon = static_cast<Real>(epsilon)](UpdateGradient<Real> gradient, Real& value, std::array<Real, 2>& slot) {
          decay(value);
          slot[0] = rho * slot[0] + part * (gradient.square);
          const Real scale = std::sqrt(slot[1] + epsilon) / std::sqrt(slot[0] + epsilon);
          slot[1] = rho * slot[1] + part * (scale * scale * gradient.square);
          value -= rate * (scale * gradient);
        };
  });
}

KernelFn make_lion(const KernelSpec& spec) {
  const double decay = spec.attr<double>("weight_decay");
  const double beta_1 = spec.attr<double>("beta_1"), beta_2 = spec.attr<double>("beta_2");
  return make_update_kernel<1>(spec, [=](const KernelIO& io, int shared, auto real) {
    using Real = decltype(real);
    const Real rate = static_cast<Real>(*io.in<float>(shared));
    return [decay = Decay<Real>(decay, rate), rate, beta_1 = static_cast<Real>(beta_1),
            beta_2 = static_cast<Real>(beta_2)](UpdateGradient<Real> gradient, Real& value, std::array<Real, 1>& slot) {
      decay(value);
      const Real direction = slot[0] * beta_1 + gradient * (Real{1} - beta_1);
      value -= direction > Real{0} ? rate : direction < Real{0} ? -rate : rate * direction;  // NaN stays NaN
      slot[0] = slot[0] * beta_2 + gradient * (Real{1} - beta_2);
    };
  });
}

KernelFn make_ftrl(const KernelSpec& spec) {
  const double decay = spec.attr<double>("weight_decay"), power = -spec.attr<double>("learning_rate_power");
  const double l1 = spec.attr<double>("l1_regularization_strength"), beta = spec.attr<double>("beta");
  const double l2 = spec.attr<double>("l2_regularization_strength");
  const double shrinkage = 2.0 * spec.attr<double>("l2_shrinkage_regularization_strength");
  return make_update_kernel<2>(spec, [=](const KernelIO& io, int shared, auto real) {
    using Real = decltype(real);
    const Real rate = static_cast<Real>(*io.in<float>(shared));
    const Real l2_all = static_cast<Real>(l2) + static_cast<Real>(beta) / (Real{2} * rate);
    const auto raised = [power = static_cast<Real>(power)](Real x) {
      return power == static_cast<Real>(0.5) ? std::sqrt(x) : std::pow(x, power);
    };
    return [decay = Decay<Real>(decay, rate), rate, raised, l1 = static_cast<Real>(l1), l2_twice = Real{2} * l2_all,
            shrinkage = static_cast<Real>(shrinkage)](UpdateGradient<Real> gradient, Real& value,
                                                      std::array<Real, 2>& slot) {
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

KernelFn make_schedule_free_adamw(const KernelSpec& spec) {
  const double decay = spec.attr<double>("weight_decay"), beta_1 = spec.attr<double>("beta_1");
  const double beta_2 = spec.attr<double>("beta_2"), epsilon = spec.attr<double>("epsilon");
  const auto warmup = spec.attr<std::int64_t>("warmup_steps");
  return make_update_kernel<2>(spec, [=](const KernelIO& io, int shared, auto real) {
    using Real = decltype(real);
    const Real rate = static_cast<Real>(*io.in<float>(shared));
    const Real step = static_cast<Real>(*io.in<std::int64_t>(shared + 1) + 1);
    const Real beta_2_real = static_cast<Real>(beta_2);
    Real warm = rate;
    if (warmup > 0) warm *= std::min(step / static_cast<Real>(warmup), Real{1});
    return
        [decay = Decay<Real>(decay, rate), warm, beta_1 = static_cast<Real>(beta_1), part_2 = Real{1} - beta_2_real,
         rest = Real{1} - std::pow(beta_2_real, step), weight = Real{1} / step,
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

COHORT_KERNEL("SGDUpdate", kCPU, make_sgd);
COHORT_KERNEL("FtrlUpdate", kCPU, make_ftrl);
COHORT_KERNEL("ScheduleFreeAdamWUpdate", kCPU, make_schedule_free_adamw);
COHORT_KERNEL("NadamUpdate", kCPU, make_nadam);
COHORT_KERNEL("AdadeltaUpdate", kCPU, make_adadelta);
COHORT_KERNEL("LionUpdate", kCPU, make_lion);
COHORT_KERNEL("MomentumUpdate", kCPU, make_momentum);
COHORT_KERNEL("AdamUpdate", kCPU, make_adam);
COHORT_KERNEL("RMSpropUpdate", kCPU, make_rmsprop);
COHORT_KERNEL("AdagradUpdate", kCPU, make_adagrad);
COHORT_KERNEL("AdamaxUpdate", kCPU, make_adamax);

}  // namespace
}  // namespace cohort
