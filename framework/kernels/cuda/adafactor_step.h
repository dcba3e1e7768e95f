#pragma once

#include "cohort/kernels/cuda/update_table.h"

namespace cohort::kernels::cuda {

struct AdafactorOptions {
  double weight_decay, beta_2_decay, epsilon_1, epsilon_2, threshold;
  explicit AdafactorOptions(const KernelSpec& spec)
      : weight_decay(spec.attr<double>("weight_decay")),
        beta_2_decay(spec.attr<double>("beta_2_decay")),
        epsilon_1(spec.attr<double>("epsilon_1")),
        epsilon_2(spec.attr<double>("epsilon_2")),
        threshold(spec.attr<double>("clip_threshold")) {}
};

// The scalars of a step, in the type it is computed in.
template <class Real>
struct AdafactorScalars {
  static __device__ AdafactorScalars make(const AdafactorOptions& from, const UpdateScalars<Real>& now) {
    const Real keep = Real{1} - update_power(now.step, static_cast<Real>(from.beta_2_decay));
    const Real falling = Real{1} / fn::sqrt(now.step);
    return {{static_cast<Real>(from.weight_decay), now.rate},
            falling < now.rate ? falling : now.rate,
            keep,
            Real{1} - keep,
            static_cast<Real>(from.epsilon_1),
            static_cast<Real>(from.epsilon_2),
            static_cast<Real>(from.threshold)};
  }
  // How far a variable of `count` elements moves, by the squares of its values and those of its step.
  __device__ Real size(double value_squares, double step_squares, std::int64_t count) const {
    const Real value_size = static_cast<Real>(::sqrt(value_squares / static_cast<double>(count)));
    const Real step_size = static_cast<Real>(::sqrt(step_squares / static_cast<double>(count)));
    const Real beyond = step_size / threshold;
    return (epsilon_2 < value_size ? value_size : epsilon_2) * limited_rate / (Real{1} < beyond ? beyond : Real{1});
  }
  WeightDecay<Real> decay;
  Real limited_rate, keep, take, epsilon_1, epsilon_2, threshold;
};

// What an element is once it has been written and read again.
template <class T>
__device__ Compute<T> rounded(Compute<T> x) {
  return widened(narrowed<T>(x));
}

// The kernel for variables whose slots are means of rows and columns.
KernelFn make_factored_adafactor(const KernelSpec& spec);

}  // namespace cohort::kernels::cuda
