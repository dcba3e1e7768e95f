#include "cohort/kernels/cuda/channels.h"

namespace cohort::kernels::cuda {
namespace {

// Three factors of each channel: dx = a * dy + b * (x - mean) + c.
template <class C>
struct FlowFactors {
  C a, b, c, mean;
};

// Sums of dy and of dy * (x - mean) for each channel, and what follows from them.
template <class C, class T>
struct Flows {
  struct Value {
    C flow, product;
  };
  TypedElements<C, T> dy, x, gamma;
  const C *mean, *variance;
  TypedElements<C, T> dgamma, dbeta;
  FlowFactors<C>* factors;
  C epsilon, count;

  __device__ Value nothing() const { return {C(0), C(0)}; }
  __device__ Value merge(const Value& a, const Value& b) const { return {a.flow + b.flow, a.product + b.product}; }
  template <int kRows, int kCount, class At, class Exists>
  __device__ void add(Value (&totals)[kCount], std::int64_t channel, const At& at, const Exists& exists) const {
    C flows[kRows][kCount], values[kRows][kCount];
    dy.load(at, exists, flows, C(0));
    x.load(at, exists, values, C(0));
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      const C center = mean[channel + j];
      C flow = 0, product = 0;
#pragma unroll
      for (int u = 0; u < kRows; ++u) {
        flow += flows[u][j];
        product += flows[u][j] * (values[u][j] - center);
      }
      totals[j].flow += flow;
      totals[j].product += product;
    }
  }
  __device__ void finish(std::int64_t channel, const Value& value) const {
    const C r = C(1) / fn::sqrt(variance[channel] + epsilon), a = gamma[channel] * r;
    dgamma.set(channel, value.product * r);
    dbeta.set(channel, value.flow);
    factors[channel] = {a, -a * r * r * value.product / count, -a * value.flow / count, mean[channel]};
  }
};

template <class C, class T>
struct FlowBack {
  using Factors = FlowFactors<C>;
  TypedElements<C, T> dy, x, dx;
  const Factors* factors;

  __device__ Factors factors_of(std::int64_t channel) const { return factors[channel]; }
  template <int kPacks, int kCount, class FactorsOf, class At, class Exists>
  __device__ void run(const FactorsOf& factors_at, const At& at, const Exists& exists) const {
    C flows[kPacks][kCount], values[kPacks][kCount];
    dy.load(at, exists, flows, C(0));
    x.load(at, exists, values, C(0));
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
#pragma unroll
      for (int j = 0; j < kCount; ++j) {
        const Factors f = factors_at(j);
        values[k][j] = f.a * flows[k][j] + f.b * (values[k][j] - f.mean) + f.c;
      }
    }
    dx.store(at, exists, values);
  }
};

// (dy, x, gamma, mean, variance) -> (dx, dgamma, dbeta)
KernelFn make_batch_norm_grad(const KernelSpec& spec) {
  const Shape& shape = spec.input(1).shape;
  const AxisSplit split(shape, normalize_axis(spec.attr<int>("axis"), shape.rank(), spec.name()));
  const DType dtype = spec.input(0).dtype;
  auto* device = &cohort::cuda::device_of(spec);
  if (split.size == 0) return [](const KernelIO&) {};
  return visit_floating(dtype, [&](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    using C = Compute<T>;
    const ChannelPlans<C> plans(split);
    const std::size_t factor_bytes = static_cast<std::size_t>(split.size) * sizeof(FlowFactors<C>);
    device->reserve_workspace(factor_bytes + static_cast<std::size_t>(split.size * plans.most_parts()) *
                                                 sizeof(typename Flows<C, T>::Value));
    return [=, epsilon = static_cast<C>(spec.attr<double>("epsilon"))](const KernelIO& io) {
      const TypedElements<C, T> dy{io.inputs[0], dtype}, x{io.inputs[1], dtype}, gamma{io.inputs[2], dtype},
          dx{io.outputs[0], dtype}, dgamma{io.outputs[1], dtype}, dbeta{io.outputs[2], dtype};
      const ChannelPlan& plan = plans.choose(dy, x, dx);
      auto* workspace = static_cast<unsigned char*>(device->workspace());
      auto* factors = reinterpret_cast<FlowFactors<C>*>(workspace);
      const Flows<C, T> flows{dy,     x,     gamma,   io.in<C>(3), io.in<C>(4),
                              dgamma, dbeta, factors, epsilon,     static_cast<C>(plan.count)};
      const FlowBack<C, T> back{dy, x, dx, factors};
      visit_width<C>(plan, [&]<int kCount>() {
        launch_gather<Flows<C, T>, kCount>(flows, plan, workspace + factor_bytes, stream_of(io));
        if (!plan.is_empty()) launch_map<FlowBack<C, T>, kCount>(back, plan, stream_of(io));
      });
    };
  });
}

COHORT_KERNEL("BatchNormGrad", kGPU, make_batch_norm_grad);

}  // namespace
}  // namespace cohort::kernels::cuda
