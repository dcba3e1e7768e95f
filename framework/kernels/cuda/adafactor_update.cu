#include "cohort/kernels/cuda/adafactor_step.h"
#include "cohort/kernels/cuda/normed_update.h"

namespace cohort::kernels::cuda {
namespace {

// Adafactor for variables that are not factored: a velocity for each element.
template <class T>
struct AdafactorStep {
  using Real = Compute<T>;
  static constexpr int kSlots = 1;
  static constexpr bool kMovesByGradient = true;
  using Options = AdafactorOptions;
  static Options options(const KernelSpec& spec) { return Options(spec); }
  static __device__ AdafactorStep make(const Options& from, const UpdateScalars<Real>& now) {
    return {AdafactorScalars<Real>::make(from, now)};
  }
  __device__ void look(Real, Real square, Real& value, Real* slot, double (&sums)[2]) const {
    with.decay(value);
    value = rounded<T>(value);
    slot[0] = rounded<T>(with.keep * slot[0] + with.take * (square + with.epsilon_1));
    sums[0] += static_cast<double>(value * value);
    sums[1] += static_cast<double>(square / slot[0]);
  }
  __device__ Real factor(double value_squares, double step_squares, std::int64_t count) const {
    return with.size(value_squares, step_squares, count);
  }
  __device__ void move(Real gradient, Real& value, const Real* slot, Real size) const {
    value -= size * (gradient / fn::sqrt(slot[0]));
  }
  AdafactorScalars<Real> with;
};

KernelFn make_adafactor(const KernelSpec& spec) {
  return spec.attr<bool>("factored") ? make_factored_adafactor(spec) : make_normed_update<AdafactorStep>(spec);
}

COHORT_KERNEL("AdafactorUpdate", kGPU, make_adafactor);

}  // namespace
}  // namespace cohort::kernels::cuda
