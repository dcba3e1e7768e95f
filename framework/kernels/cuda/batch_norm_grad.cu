#include "cohort/kernels/cuda/channels.h"

namespace cohort::kernels::cuda {
namespace {

// Sums of dy and of dy * (x - mean) for each channel, and what follows from them: dx = dy * a + x * b + c. Where scale
// and shift are given, dy counts only where a relu of x * scale + shift lets it through.
template <class C, class T>
struct Flows {
  struct Value {
    C flow, product;
  };
  TypedElements<C, T> dy, x;
  TypedElements<C> gamma;
  const C *mean, *variance, *scale, *shift;
  C *a, *b, *c;
  TypedElements<C> dgamma, dbeta;
  C epsilon, count;

  __device__ Value nothing() const { return {C(0), C(0)}; }
  __device__ Value merge(const Value& a, const Value& b) const { return {a.flow + b.flow, a.product + b.product}; }
  static constexpr int kRows = 4;

  template <int kCount>
  struct Sums {
    __device__ Sums(const Flows& flows, std::int64_t channel) {
#pragma unroll
      for (int j = 0; j < kCount; ++j) {
        center[j] = flows.mean[channel + j];
        if (flows.scale) {
          factor[j] = flows.scale[channel + j];
          offset[j] = flows.shift[channel + j];
        }
      }
    }
    template <int kPacks, class At, class Exists>
    __device__ void add(const Flows& flows, const At& at, const Exists& exists) {
      C flow[kPacks][kCount], values[kPacks][kCount];
      flows.dy.load(at, exists, flow, C(0));
      flows.x.load(at, exists, values, C(0));
      if (flows.scale) mask(flow, values);
#pragma unroll
      for (int j = 0; j < kCount; ++j) {
        C more = 0, product = 0;
#pragma unroll
        for (int u = 0; u < kPacks; ++u) {
          more += flow[u][j];
          product += flow[u][j] * (values[u][j] - center[j]);
        }
        totals[j].flow += more;
        totals[j].product += product;
      }
    }
    __device__ Value value(int j) const { return totals[j]; }

   private:
    // The relu saw its input as an element of x's type.
    template <int kPacks>
    __device__ void mask(C (&flow)[kPacks][kCount], const C (&values)[kPacks][kCount]) const {
#pragma unroll
      for (int u = 0; u < kPacks; ++u) {
#pragma unroll
        for (int j = 0; j < kCount; ++j) {
          if (!(lifted<C>(lowered<T>(values[u][j] * factor[j] + offset[j])) > C(0))) flow[u][j] = C(0);
        }
      }
    }

    Value totals[kCount] = {};
    C center[kCount], factor[kCount] = {}, offset[kCount] = {};
  };

  __device__ void finish(std::int64_t channel, const Value& value) const {
    const C r = C(1) / fn::sqrt(variance[channel] + epsilon), to_flow = gamma[channel] * r;
    const C to_value = -to_flow * r * r * value.product / count;
    dgamma.set(channel, value.product * r);
    dbeta.set(channel, value.flow);
    a[channel] = to_flow;
    b[channel] = to_value;
    c[channel] = -to_flow * value.flow / count - to_value * mean[channel];
  }
};

template <class C, class T>
struct FlowBack {
  struct Factors {
    C a, b, c;
  };
  TypedElements<C, T> dy, x, dx;
  const C *a, *b, *c;

  __device__ Factors factors_of(std::int64_t channel) const { return {a[channel], b[channel], c[channel]}; }
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
        values[k][j] = flows[k][j] * f.a + values[k][j] * f.b + f.c;
      }
    }
    dx.store(at, exists, values);
  }
};

// (dy, x, gamma, mean, variance) -> (dx, dgamma, dbeta)
KernelFn make_batch_norm_grad(const KernelSpec& spec) {
  const AxisSplit split = channel_split(spec, 1);
  const DType dtype = spec.input(1).dtype;
  auto* device = &cohort::cuda::device_of(spec);
  if (split.size == 0) return [](const KernelIO&) {};
  return visit_floating(dtype, [&](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    using C = Compute<T>;
    const ChannelPlans<C> plans(split);
    const std::int64_t channels = split.size;
    const std::size_t factor_bytes = static_cast<std::size_t>(3 * channels + channels % 2) * sizeof(C);
    device->reserve_workspace(factor_bytes + plans.template gather_bytes<Flows<C, T>>());
    return [=, epsilon = static_cast<C>(spec.attr<double>("epsilon"))](const KernelIO& io) {
      const TypedElements<C, T> dy{io.inputs[0], dtype}, x{io.inputs[1], dtype}, dx{io.outputs[0], dtype};
      const TypedElements<C> gamma{io.inputs[2], dtype}, dgamma{io.outputs[1], dtype}, dbeta{io.outputs[2], dtype};
      auto* workspace = static_cast<unsigned char*>(device->workspace());
      C *a = reinterpret_cast<C*>(workspace), *b = a + channels, *c = b + channels;
      const ChannelPlan& plan = plans.choose(dy, x, dx);
      const Flows<C, T> flows{dy, x, gamma, io.in<C>(3), io.in<C>(4), nullptr, nullptr,
                              a,  b, c,     dgamma,      dbeta,       epsilon, static_cast<C>(plan.count)};
      const FlowBack<C, T> back{dy, x, dx, a, b, c};
      visit_width<C>(plan, [&]<int kCount>() {
        launch_gather<Flows<C, T>, kCount>(flows, plan, workspace + factor_bytes, stream_of(io));
        if (!plan.is_empty()) launch_map<FlowBack<C, T>, kCount>(back, plan, stream_of(io));
      });
    };
  });
}

// (dy, x, gamma, mean, variance[, scale, shift]) -> (a, b, c, dgamma, dbeta)
KernelFn make_batch_norm_grad_factors(const KernelSpec& spec) {
  const AxisSplit split = channel_split(spec, 1);
  const DType dtype = spec.input(1).dtype, computed = spec.input(2).dtype;
  const bool masked = spec.num_inputs() > 5;
  auto* device = &cohort::cuda::device_of(spec);
  if (split.size == 0) return [](const KernelIO&) {};
  return visit_floating(dtype, [&](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    using C = Compute<T>;
    const ChannelPlans<C> plans(split);
    device->reserve_workspace(plans.template gather_bytes<Flows<C, T>>());
    return [=, epsilon = static_cast<C>(spec.attr<double>("epsilon"))](const KernelIO& io) {
      const TypedElements<C, T> dy{io.inputs[0], dtype}, x{io.inputs[1], dtype};
      const TypedElements<C> gamma{io.inputs[2], computed}, dgamma{io.outputs[3], computed},
          dbeta{io.outputs[4], computed};
      const ChannelPlan& plan = plans.choose(dy, x);
      const Flows<C, T> flows{dy,
                              x,
                              gamma,
                              io.in<C>(3),
                              io.in<C>(4),
                              masked ? io.in<C>(5) : nullptr,
                              masked ? io.in<C>(6) : nullptr,
                              io.out<C>(0),
                              io.out<C>(1),
                              io.out<C>(2),
                              dgamma,
                              dbeta,
                              epsilon,
                              static_cast<C>(plan.count)};
      visit_width<C>(plan, [&]<int kCount>() {
        launch_gather<Flows<C, T>, kCount>(flows, plan, device->workspace(), stream_of(io));
      });
    };
  });
}

COHORT_KERNEL("BatchNormGrad", kGPU, make_batch_norm_grad);
COHORT_KERNEL("BatchNormGradFactors", kGPU, make_batch_norm_grad_factors);

}  // namespace
}  // namespace cohort::kernels::cuda
