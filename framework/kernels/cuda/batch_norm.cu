#include "cohort/kernels/cuda/channels.h"
#include "cohort/kernels/cuda/multiply_add.h"

namespace cohort::kernels::cuda {
namespace {

// Mean and variance of each channel, and what follows from them: y = x * scale + shift. Nothing cancels out whatever
// the mean is.
template <class C, class T>
struct Moments {
  struct Value {
    C count, mean, squares;  // of distances from the mean
  };
  TypedElements<C, T> x;
  TypedElements<C> gamma, beta;
  C *mean, *variance, *scale, *shift;
  C epsilon;

  __device__ Value nothing() const { return {C(0), C(0), C(0)}; }
  __device__ Value merge(const Value& a, const Value& b) const {
    if (b.count == C(0)) return a;
    if (a.count == C(0)) return b;
    const C count = a.count + b.count;
    const C share = b.count / count, difference = b.mean - a.mean;
    return {count, a.mean + difference * share, a.squares + b.squares + difference * difference * (a.count * share)};
  }
  static constexpr int kRows = 8;

  // Distances from the mean of the elements before (at first from an element) are summed up for a while, then the mean
  // moves on: what is added is never much larger than what comes of it.
  template <int kCount>
  struct Sums {
    static constexpr int kAWhile = 4 * kRows;

    __device__ Sums(const Moments&, std::int64_t) {}
    template <int kPacks, class At, class Exists>
    __device__ void add(const Moments& moments, const At& at, const Exists& exists) {
      C values[kPacks][kCount];
      moments.x.load(at, exists, values, C(0));
      if (count + taken == C(0)) {
#pragma unroll
        for (int j = 0; j < kCount; ++j) mean[j] = values[0][j];
      }
#pragma unroll
      for (int u = 0; u < kPacks; ++u) {
        const bool counts = exists(u);
        taken += counts ? C(1) : C(0);
#pragma unroll
        for (int j = 0; j < kCount; ++j) {
          const C distance = counts ? values[u][j] - mean[j] : C(0);
          sum[j] += distance;
          sum_of_squares[j] = multiply_add(distance, distance, sum_of_squares[j]);
        }
      }
      if (taken >= C(kAWhile)) move_on();
    }
    __device__ Value value(int j) {
      if (taken > C(0)) move_on();
      return {count, mean[j], squares[j]};
    }

   private:
    __device__ void move_on() {
      const C inverse = C(1) / taken, share = taken / (count + taken), weight = count * share;
#pragma unroll
      for (int j = 0; j < kCount; ++j) {
        const C difference = sum[j] * inverse, inner = sum_of_squares[j] - sum[j] * difference;
        mean[j] += difference * share;
        squares[j] += (inner < C(0) ? C(0) : inner) + difference * difference * weight;
        sum[j] = sum_of_squares[j] = C(0);
      }
      count += taken;
      taken = C(0);
    }

    C count = 0, mean[kCount] = {}, squares[kCount] = {};        // of distances from the mean
    C taken = 0, sum[kCount] = {}, sum_of_squares[kCount] = {};  // since the mean moved on, distances from it
  };

  __device__ void finish(std::int64_t channel, const Value& value) const {
    const C spread = value.squares / value.count, factor = gamma[channel] / fn::sqrt(spread + epsilon);
    mean[channel] = value.mean;
    variance[channel] = spread;
    scale[channel] = factor;
    shift[channel] = beta[channel] - value.mean * factor;
  }
};

template <class C, class T>
struct Normalize {
  struct Factors {
    C scale, shift;
  };
  TypedElements<C, T> x, y;
  const C *scale, *shift;

  __device__ Factors factors_of(std::int64_t channel) const { return {scale[channel], shift[channel]}; }
  template <int kPacks, int kCount, class FactorsOf, class At, class Exists>
  __device__ void run(const FactorsOf& factors_at, const At& at, const Exists& exists) const {
    C values[kPacks][kCount];
    x.load(at, exists, values, C(0));
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
#pragma unroll
      for (int j = 0; j < kCount; ++j) values[k][j] = values[k][j] * factors_at(j).scale + factors_at(j).shift;
    }
    y.store(at, exists, values);
  }
};

// (x, gamma, beta) -> (y, mean, variance)
KernelFn make_batch_norm(const KernelSpec& spec) {
  const AxisSplit split = channel_split(spec, 0);
  const DType dtype = spec.input(0).dtype;
  auto* device = &cohort::cuda::device_of(spec);
  if (split.size == 0) return [](const KernelIO&) {};
  return visit_floating(dtype, [&](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    using C = Compute<T>;
    const ChannelPlans<C> plans(split);
    const std::int64_t channels = split.size;
    const std::size_t factor_bytes = static_cast<std::size_t>(2 * channels) * sizeof(C);
    device->reserve_workspace(factor_bytes + plans.template gather_bytes<Moments<C, T>>());
    return [=, epsilon = static_cast<C>(spec.attr<double>("epsilon"))](const KernelIO& io) {
      const TypedElements<C, T> x{io.inputs[0], dtype}, y{io.outputs[0], dtype};
      const TypedElements<C> gamma{io.inputs[1], dtype}, beta{io.inputs[2], dtype};
      auto* workspace = static_cast<unsigned char*>(device->workspace());
      C *scale = reinterpret_cast<C*>(workspace), *shift = scale + channels;
      const ChannelPlan& plan = plans.choose(x, y);
      const Moments<C, T> moments{x, gamma, beta, io.out<C>(1), io.out<C>(2), scale, shift, epsilon};
      const Normalize<C, T> normalize{x, y, scale, shift};
      visit_width<C>(plan, [&]<int kCount>() {
        launch_gather<Moments<C, T>, kCount>(moments, plan, workspace + factor_bytes, stream_of(io));
        if (!plan.is_empty()) launch_map<Normalize<C, T>, kCount>(normalize, plan, stream_of(io));
      });
    };
  });
}

// (x, gamma, beta) -> (mean, variance, scale, shift)
KernelFn make_batch_norm_factors(const KernelSpec& spec) {
  const AxisSplit split = channel_split(spec, 0);
  const DType dtype = spec.input(0).dtype, computed = spec.input(1).dtype;
  auto* device = &cohort::cuda::device_of(spec);
  if (split.size == 0) return [](const KernelIO&) {};
  return visit_floating(dtype, [&](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    using C = Compute<T>;
    const ChannelPlans<C> plans(split);
    device->reserve_workspace(plans.template gather_bytes<Moments<C, T>>());
    return [=, epsilon = static_cast<C>(spec.attr<double>("epsilon"))](const KernelIO& io) {
      const TypedElements<C, T> x{io.inputs[0], dtype};
      const TypedElements<C> gamma{io.inputs[1], computed}, beta{io.inputs[2], computed};
      const Moments<C, T> moments{x, gamma, beta, io.out<C>(0), io.out<C>(1), io.out<C>(2), io.out<C>(3), epsilon};
      const ChannelPlan& plan = plans.choose(x);
      visit_width<C>(plan, [&]<int kCount>() {
        launch_gather<Moments<C, T>, kCount>(moments, plan, device->workspace(), stream_of(io));
      });
    };
  });
}

COHORT_KERNEL("BatchNorm", kGPU, make_batch_norm);
COHORT_KERNEL("BatchNormFactors", kGPU, make_batch_norm_factors);

}  // namespace
}  // namespace cohort::kernels::cuda
