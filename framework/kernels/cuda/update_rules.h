#pragma once

#include "cohort/kernels/cuda/update_table.h"

// The rules of optimizers that look at one element at a time: `options` reads an op's attributes, `make` works out what
// all elements of a step share, the call moves one element. They compute as Keras does in the variable's type,
// operation by operation, so that a long training follows the same path.

namespace cohort::kernels::cuda {

template <class Real>
struct SgdRule {
  static constexpr int kSlots = 0;
  struct Options {
    double weight_decay;
  };
  static Options options(const KernelSpec& spec) { return {spec.attr<double>("weight_decay")}; }
  static __device__ SgdRule make(const Options& from, const UpdateScalars<Real>& now) {
    return {{static_cast<Real>(from.weight_decay), now.rate}};
  }
  __device__ void operator()(Real gradient, Real, Real& value, Real*) const {
    decay(value);
    value -= gradient * decay.rate;
  }
  WeightDecay<Real> decay;
};

template <class Real>
struct MomentumRule {
  static constexpr int kSlots = 1;
  struct Options {
    double weight_decay, momentum;
    bool nesterov;
  };
  static Options options(const KernelSpec& spec) {
    return {spec.attr<double>("weight_decay"), spec.attr<double>("momentum"), spec.attr<bool>("nesterov")};
  }
  static __device__ MomentumRule make(const Options& from, const UpdateScalars<Real>& now) {
    return {{static_cast<Real>(from.weight_decay), now.rate}, static_cast<Real>(from.momentum), from.nesterov};
  }
  __device__ void operator()(Real gradient, Real, Real& value, Real* slot) const {
    decay(value);
    const Real change = gradient * decay.rate;
    slot[0] = slot[0] * momentum - change;
    value += nesterov ? slot[0] * momentum - change : slot[0];
  }
  WeightDecay<Real> decay;
  Real momentum;
  bool nesterov;
};

template <class Real, bool kAmsgrad>
struct AdamRule {
  static constexpr int kSlots = kAmsgrad ? 3 : 2;
  struct Options {
    double weight_decay, beta_1, beta_2, epsilon, ratio;
  };
  static Options options(const KernelSpec& spec) {
    return {spec.attr<double>("weight_decay"), spec.attr<double>("beta_1"), spec.attr<double>("beta_2"),
            spec.attr<double>("epsilon"), spec.attr<double>("learning_rate_ratio")};
  }
  static __device__ AdamRule make(const Options& from, const UpdateScalars<Real>& now) {
    const Real power_1 = update_power(static_cast<Real>(from.beta_1), now.step);
    const Real power_2 = update_power(static_cast<Real>(from.beta_2), now.step);
    const Real alpha = now.rate * static_cast<Real>(from.ratio) * fn::sqrt(Real{1} - power_2) / (Real{1} - power_1);
    return {{static_cast<Real>(from.weight_decay), now.rate},
            alpha,
            static_cast<Real>(1.0 - from.beta_1),
            static_cast<Real>(1.0 - from.beta_2),
            static_cast<Real>(from.epsilon)};
  }
  __device__ void operator()(Real gradient, Real square, Real& value, Real* slot) const {
    decay(value);
    slot[0] += (gradient - slot[0]) * part_1;
    slot[1] += (square - slot[1]) * part_2;
    Real velocity = slot[1];
    if constexpr (kAmsgrad) {
      slot[2] = slot[2] > velocity ? slot[2] : velocity;
      velocity = slot[2];
    }
    value -= slot[0] * alpha / (fn::sqrt(velocity) + epsilon);
  }
  WeightDecay<Real> decay;
  Real alpha, part_1, part_2, epsilon;
};

template <class Real>
struct AdamaxRule {
  static constexpr int kSlots = 2;
  struct Options {
    double weight_decay, beta_1, beta_2, epsilon;
    bool apart;  // what stands in the place of squares are magnitudes
  };
  static Options options(const KernelSpec& spec) {
    return {spec.attr<double>("weight_decay"), spec.attr<double>("beta_1"), spec.attr<double>("beta_2"),
            spec.attr<double>("epsilon"), UpdateLayout(spec.call()).has_squares()};
  }
  static __device__ AdamaxRule make(const Options& from, const UpdateScalars<Real>& now) {
    return {{static_cast<Real>(from.weight_decay), now.rate},
            Real{1} - update_power(static_cast<Real>(from.beta_1), now.step),
            static_cast<Real>(1.0 - from.beta_1),
            static_cast<Real>(from.beta_2),
            static_cast<Real>(from.epsilon),
            from.apart};
  }
  __device__ void operator()(Real gradient, Real square, Real& value, Real* slot) const {
    decay(value);
    slot[0] += (gradient - slot[0]) * part;
    const Real faded = beta_2 * slot[1], size = apart ? square : fn::absolute(gradient);
    slot[1] = faded > size ? faded : size;
    value -= decay.rate * slot[0] / (rest * (slot[1] + epsilon));
  }
  WeightDecay<Real> decay;
  Real rest, part, beta_2, epsilon;
  bool apart;
};

template <class Real>
struct AdagradRule {
  static constexpr int kSlots = 1;
  struct Options {
    double weight_decay, epsilon;
  };
  static Options options(const KernelSpec& spec) {
    return {spec.attr<double>("weight_decay"), spec.attr<double>("epsilon")};
  }
  static __device__ AdagradRule make(const Options& from, const UpdateScalars<Real>& now) {
    return {{static_cast<Real>(from.weight_decay), now.rate}, static_cast<Real>(from.epsilon)};
  }
  __device__ void operator()(Real gradient, Real square, Real& value, Real* slot) const {
    decay(value);
    slot[0] += square;
    value -= decay.rate * gradient / fn::sqrt(slot[0] + epsilon);
  }
  WeightDecay<Real> decay;
  Real epsilon;
};

template <class Real>
struct AdadeltaRule {
  static constexpr int kSlots = 2;
  struct Options {
    double weight_decay, rho, epsilon;
  };
  static Options options(const KernelSpec& spec) {
    return {spec.attr<double>("weight_decay"), spec.attr<double>("rho"), spec.attr<double>("epsilon")};
  }
  static __device__ AdadeltaRule make(const Options& from, const UpdateScalars<Real>& now) {
    return {{static_cast<Real>(from.weight_decay), now.rate},
            static_cast<Real>(from.rho),
            static_cast<Real>(1.0 - from.rho),
            static_cast<Real>(from.epsilon)};
  }
  __device__ void operator()(Real gradient, Real square, Real& value, Real* slot) const {
    decay(value);
    slot[0] = rho * slot[0] + part * square;
    const Real scale = fn::sqrt(slot[1] + epsilon) / fn::sqrt(slot[0] + epsilon);
    slot[1] = rho * slot[1] + part * (scale * scale * square);
    value -= decay.rate * (scale * gradient);
  }
  WeightDecay<Real> decay;
  Real rho, part, epsilon;
};

template <class Real, bool kMomentum, bool kCentered>
struct RmspropRule {
  static constexpr int kSlots = 1 + kMomentum + kCentered;
  struct Options {
    double weight_decay, rho, momentum, epsilon;
  };
  static Options options(const KernelSpec& spec) {
    return {spec.attr<double>("weight_decay"), spec.attr<double>("rho"), spec.attr<double>("momentum"),
            spec.attr<double>("epsilon")};
  }
  static __device__ RmspropRule make(const Options& from, const UpdateScalars<Real>& now) {
    return {{static_cast<Real>(from.weight_decay), now.rate},
            static_cast<Real>(from.rho),
            static_cast<Real>(1.0 - from.rho),
            static_cast<Real>(from.momentum),
            static_cast<Real>(from.epsilon)};
  }
  __device__ void operator()(Real gradient, Real square, Real& value, Real* slot) const {
    decay(value);
    slot[0] = rho * slot[0] + part * square;
    Real denominator = slot[0];
    if constexpr (kCentered) {
      Real& average = slot[kSlots - 1];
      average = rho * average + part * gradient;
      denominator -= average * average;
    }
    Real increment = decay.rate * gradient / fn::sqrt(denominator + epsilon);
    if constexpr (kMomentum) {
      slot[1] = momentum * slot[1] + increment;
      increment = slot[1];
    }
    value -= increment;
  }
  WeightDecay<Real> decay;
  Real rho, part, momentum, epsilon;
};

template <class Real>
struct NadamRule {
  static constexpr int kSlots = 2;
  struct Options {
    double weight_decay, beta_1, beta_2, epsilon;
  };
  static Options options(const KernelSpec& spec) {
    return {spec.attr<double>("weight_decay"), spec.attr<double>("beta_1"), spec.attr<double>("beta_2"),
            spec.attr<double>("epsilon")};
  }
  static __device__ Real factor(Real beta_1, Real step) {
    return beta_1 * (Real{1} - Real{0.5} * update_power(static_cast<Real>(0.96), step));
  }
  static __device__ NadamRule make(const Options& from, const UpdateScalars<Real>& now) {
    const Real beta_1 = static_cast<Real>(from.beta_1), beta_2 = static_cast<Real>(from.beta_2);
    const Real present = factor(beta_1, now.step), next = factor(beta_1, now.step + Real{1});
    return {{static_cast<Real>(from.weight_decay), now.rate},
            present,
            next,
            Real{1} - now.product,
            Real{1} - now.product * next,
            Real{1} - beta_1,
            Real{1} - beta_2,
            Real{1} - update_power(beta_2, now.step),
            static_cast<Real>(from.epsilon)};
  }
  __device__ void operator()(Real gradient, Real square, Real& value, Real* slot) const {
    decay(value);
    slot[0] += (gradient - slot[0]) * part_1;
    slot[1] += (square - slot[1]) * part_2;
    const Real momentum = next * slot[0] / left_next + (Real{1} - present) * gradient / left;
    value -= momentum * decay.rate / (fn::sqrt(slot[1] / rest) + epsilon);
  }
  WeightDecay<Real> decay;
  Real present, next, left, left_next, part_1, part_2, rest, epsilon;
};

template <class Real>
struct LionRule {
  static constexpr int kSlots = 1;
  struct Options {
    double weight_decay, beta_1, beta_2;
  };
  static Options options(const KernelSpec& spec) {
    return {spec.attr<double>("weight_decay"), spec.attr<double>("beta_1"), spec.attr<double>("beta_2")};
  }
  static __device__ LionRule make(const Options& from, const UpdateScalars<Real>& now) {
    return {{static_cast<Real>(from.weight_decay), now.rate},
            static_cast<Real>(from.beta_1),
            static_cast<Real>(from.beta_2)};
  }
  __device__ void operator()(Real gradient, Real, Real& value, Real* slot) const {
    decay(value);
    const Real rate = decay.rate, direction = slot[0] * beta_1 + gradient * (Real{1} - beta_1);
    value -= direction > Real{0} ? rate : direction < Real{0} ? -rate : rate * direction;  // NaN stays NaN
    slot[0] = slot[0] * beta_2 + gradient * (Real{1} - beta_2);
  }
  WeightDecay<Real> decay;
  Real beta_1, beta_2;
};

template <class Real>
struct FtrlRule {
  static constexpr int kSlots = 2;
  struct Options {
    double weight_decay, power, l1, l2, beta, shrinkage;
  };
  static Options options(const KernelSpec& spec) {
    return {spec.attr<double>("weight_decay"),
            -spec.attr<double>("learning_rate_power"),
            spec.attr<double>("l1_regularization_strength"),
            spec.attr<double>("l2_regularization_strength"),
            spec.attr<double>("beta"),
            2.0 * spec.attr<double>("l2_shrinkage_regularization_strength")};
  }
  static __device__ FtrlRule make(const Options& from, const UpdateScalars<Real>& now) {
    const Real l2_all = static_cast<Real>(from.l2) + static_cast<Real>(from.beta) / (Real{2} * now.rate);
    return {{static_cast<Real>(from.weight_decay), now.rate},
            static_cast<Real>(from.power),
            static_cast<Real>(from.l1),
            Real{2} * l2_all,
            static_cast<Real>(from.shrinkage)};
  }
  __device__ Real raised(Real x) const {
    return power == static_cast<Real>(0.5) ? fn::sqrt(x) : update_power(x, power);
  }
  __device__ void operator()(Real gradient, Real square, Real& value, Real* slot) const {
    decay(value);
    const Real rate = decay.rate, before = raised(slot[0]);
    slot[0] += square;
    const Real now = raised(slot[0]);
    slot[1] += gradient + shrinkage * value - (now - before) / rate * value;
    const Real clipped = slot[1] < -l1 ? -l1 : slot[1] > l1 ? l1 : slot[1];
    value = (clipped - slot[1]) / (now / rate + l2_twice);
  }
  WeightDecay<Real> decay;
  Real power, l1, l2_twice, shrinkage;
};

template <class Real>
struct ScheduleFreeAdamWRule {
  static constexpr int kSlots = 2;
  struct Options {
    double weight_decay, beta_1, beta_2, epsilon;
    std::int64_t warmup;
  };
  static Options options(const KernelSpec& spec) {
    return {spec.attr<double>("weight_decay"), spec.attr<double>("beta_1"), spec.attr<double>("beta_2"),
            spec.attr<double>("epsilon"), spec.attr<std::int64_t>("warmup_steps")};
  }
  static __device__ ScheduleFreeAdamWRule make(const Options& from, const UpdateScalars<Real>& now) {
    Real warm = now.rate;
    if (from.warmup > 0) {
      const Real share = now.step / static_cast<Real>(from.warmup);
      warm *= share < Real{1} ? share : Real{1};
    }
    const Real beta_2 = static_cast<Real>(from.beta_2);
    return {{static_cast<Real>(from.weight_decay), now.rate},
            warm,
            static_cast<Real>(from.beta_1),
            Real{1} - beta_2,
            Real{1} - update_power(beta_2, now.step),
            Real{1} / now.step,
            static_cast<Real>(from.epsilon)};
  }
  __device__ void operator()(Real gradient, Real square, Real& value, Real* slot) const {
    decay(value);
    slot[1] += (square - slot[1]) * part_2;
    slot[0] -= warm * gradient / (fn::sqrt(slot[1] / rest) + epsilon);
    // Keras takes the average apart by the iterate it has already moved.
    const Real average = (value - (Real{1} - beta_1) * slot[0]) / beta_1;
    const Real moved = (Real{1} - weight) * average + weight * slot[0];
    value = (Real{1} - beta_1) * slot[0] + beta_1 * moved;
  }
  WeightDecay<Real> decay;
  Real warm, beta_1, part_2, rest, weight, epsilon;
};

}  // namespace cohort::kernels::cuda
