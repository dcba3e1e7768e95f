#include "cohort/kernels/cuda/normed_update.h"

namespace cohort::kernels::cuda {
namespace {

// Lamb scales a variable's step by the ratio of its norm and the step's.
template <class T>
struct LambStep {
  using Real = Compute<T>;
  static constexpr int kSlots = 2;
  static constexpr bool kMovesByGradient = false;
  struct Options {
    double weight_decay, beta_1, beta_2, epsilon;
  };
  static Options options(const KernelSpec& spec) {
    return {spec.attr<double>("weight_decay"), spec.attr<double>("beta_1"), spec.attr<double>("beta_2"),
            spec.attr<double>("epsilon")};
  }
  static __device__ LambStep make(const Options& from, const UpdateScalars<Real>& now) {
    return {{static_cast<Real>(from.weight_decay), now.rate},
            static_cast<Real>(1.0 - from.beta_1),
            static_cast<Real>(1.0 - from.beta_2),
            Real{1} - update_power(static_cast<Real>(from.beta_1), now.step),
            Real{1} - update_power(static_cast<Real>(from.beta_2), now.step),
            static_cast<Real>(from.epsilon)};
  }
  __device__ Real direction(const Real* slot) const {
    return slot[0] / rest_1 / (fn::sqrt(slot[1] / rest_2) + epsilon);
  }
  __device__ void look(Real gradient, Real square, Real& value, Real* slot, double (&sums)[2]) const {
    decay(value);
    slot[0] += (gradient - slot[0]) * part_1;
    slot[1] += (square - slot[1]) * part_2;
    const Real step = direction(slot);
    sums[0] += static_cast<double>(value) * static_cast<double>(value);
    sums[1] += static_cast<double>(step) * static_cast<double>(step);
  }
  __device__ Real factor(double value_squares, double step_squares, std::int64_t) const {
    const double size = ::sqrt(value_squares), change = ::sqrt(step_squares);
    return static_cast<Real>(size > 0 && change > 0 ? size / change : 1.0);
  }
  __device__ void move(Real, Real& value, const Real* slot, Real ratio) const {
    value -= ratio * decay.rate * direction(slot);
  }
  WeightDecay<Real> decay;
  Real part_1, part_2, rest_1, rest_2, epsilon;
};

COHORT_KERNEL("LambUpdate", kGPU, make_normed_update<LambStep>);

}  // namespace
}  // namespace cohort::kernels::cuda
