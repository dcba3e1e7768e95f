#include <algorithm>
#include <cmath>

#include "cohort/core/kernel.h"
#include "cohort/core/scratch.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/axis_split.h"
#include "cohort/kernels/cpu/element_types.h"
#include "cohort/kernels/cpu/row_sums.h"
#include "cohort/kernels/cpu/visit.h"

namespace cohort::kernels {
namespace {

// The tensor as `outer` blocks of `channels` runs of `inner` elements. With channels last (inner = 1) rows of channels
// are handled in blocks small enough for the cache, whose sums are then put together in order; else a channel is a
// task.
struct ChannelPlan {
  ChannelPlan(const Shape& x, int axis) {
    const AxisSplit split(x, axis);
    outer = split.outer, channels = split.size, inner = split.inner;
    const std::int64_t width = std::max<std::int64_t>(1, channels);
    block_rows = std::max<std::int64_t>((outer + 127) / 128, std::max<std::int64_t>(1, 16384 / width));
  }
  std::int64_t count() const { return outer * inner; }
  bool channels_last() const { return inner == 1; }
  std::int64_t blocks() const { return (outer + block_rows - 1) / block_rows; }
  std::int64_t rows_of(std::int64_t block) const { return std::min(block_rows, outer - block * block_rows); }

  std::int64_t outer, channels, inner, block_rows;
};

Scratch block_sums, channel_factors;

// Adds pairs(i, a, b) of each row of a block to the columns of a and b.
template <class C, class Pairs>
void add_columns(std::int64_t rows, std::int64_t width, C* __restrict a, C* __restrict b, const Pairs& pairs) {
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < width; ++i) {
      const auto [first, second] = pairs(row * width + i, i);
      a[i] += first;
      b[i] += second;
    }
  }
}

// Mean and sum of squared distances from it: of one block, then of all, each merged with those before it.
template <class T, class C>
void moments_of_columns(const ChannelPlan& plan, const T* x, C* mean, C* variance) {
  const std::int64_t width = plan.channels;
  C* means = block_sums.get<C>(plan.blocks() * 2 * width);
  parallel_for(plan.blocks(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t rows = plan.rows_of(block);
      const T* __restrict values = x + block * plan.block_rows * width;
      C* __restrict sums = means + block * 2 * width;
      C* __restrict squares = sums + width;
      std::fill_n(sums, 2 * width, C(0));
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t i = 0; i < width; ++i) sums[i] += C(values[row * width + i]);
      }
      for (std::int64_t i = 0; i < width; ++i) sums[i] /= static_cast<C>(rows);
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t i = 0; i < width; ++i) {
          const C distance = C(values[row * width + i]) - sums[i];
          squares[i] += distance * distance;
        }
      }
    }
  });
  std::fill_n(mean, width, C(0));
  std::fill_n(variance, width, C(0));
  std::int64_t before = 0;
  for (std::int64_t block = 0; block < plan.blocks(); ++block) {
    const C *more = means + block * 2 * width, *squares = more + width;
    const std::int64_t rows = plan.rows_of(block);
    const C share = static_cast<C>(rows) / static_cast<C>(before + rows);
    const C weight = static_cast<C>(before) * share;
    for (std::int64_t i = 0; i < width; ++i) {
      const C difference = more[i] - mean[i];
      mean[i] += difference * share;
      variance[i] += squares[i] + difference * difference * weight;
    }
    before += rows;
  }
  for (std::int64_t i = 0; i < width; ++i) variance[i] /= static_cast<C>(plan.count());
}

template <class T, class C>
void moments_of_runs(const ChannelPlan& plan, const T* x, C* mean, C* variance) {
  parallel_for(plan.channels, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t channel = begin; channel < end; ++channel) {
      C sum = 0, squares = 0;
      for (std::int64_t block = 0; block < plan.outer; ++block) {
        const T* run = x + (block * plan.channels + channel) * plan.inner;
        sum += sum_in_lanes<C>(plan.inner, [=](std::int64_t i) { return C(run[i]); });
      }
      const C center = sum / static_cast<C>(plan.count());
      for (std::int64_t block = 0; block < plan.outer; ++block) {
        const T* run = x + (block * plan.channels + channel) * plan.inner;
        squares += sum_in_lanes<C>(plan.inner, [=](std::int64_t i) {
          const C distance = C(run[i]) - center;
          return distance * distance;
        });
      }
      mean[channel] = center;
      variance[channel] = squares / static_cast<C>(plan.count());
    }
  });
}

template <class T, class C>
void moments_of_channels(const ChannelPlan& plan, const T* x, C* mean, C* variance) {
  if (plan.channels_last()) {
    moments_of_columns(plan, x, mean, variance);
  } else {
    moments_of_runs(plan, x, mean, variance);
  }
}

// y = x * scale + shift for each channel.
template <class G, class C>
void find_factors(const ChannelPlan& plan, const G* gamma, const G* beta, const C* mean, const C* variance, C epsilon,
                  C* scale, C* shift) {
  for (std::int64_t i = 0; i < plan.channels; ++i) {
    scale[i] = C(gamma[i]) / std::sqrt(variance[i] + epsilon);
    shift[i] = C(beta[i]) - mean[i] * scale[i];
  }
}

// Calls row(first element) for rows of channels, or run(first element, channel) for runs, all in parallel.
template <class Row, class Run>
void for_elements(const ChannelPlan& plan, const Row& row, const Run& run) {
  if (plan.channels_last()) {
    parallel_for(plan.outer, std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, plan.channels)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) row(i * plan.channels);
                 });
  } else {
    parallel_for(plan.outer * plan.channels, std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, plan.inner)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) run(i * plan.inner, i % plan.channels);
                 });
  }
}

int channel_axis(const KernelSpec& spec, int rank) { return normalize_axis(spec.attr<int>("axis"), rank, spec.name()); }

KernelFn make_batch_norm(const KernelSpec& spec) {
  const Shape& shape = spec.input(0).shape;
  const ChannelPlan plan(shape, channel_axis(spec, shape.rank()));
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    using C = Compute<T>;
    return [plan, epsilon = static_cast<C>(spec.attr<double>("epsilon"))](const KernelIO& io) {
      const T *x = io.in<T>(0), *gamma = io.in<T>(1), *beta = io.in<T>(2);
      T* y = io.out<T>(0);
      C *mean = io.out<C>(1), *variance = io.out<C>(2);
      moments_of_channels(plan, x, mean, variance);
      const std::int64_t width = plan.channels;
      C* factors = channel_factors.get<C>(2 * width);
      find_factors(plan, gamma, beta, mean, variance, epsilon, factors, factors + width);
      for_elements(
          plan,
          [&](std::int64_t at) {
            const C *scale = factors, *shift = factors + width;
            const T* __restrict from = x + at;
            T* __restrict to = y + at;
            for (std::int64_t i = 0; i < width; ++i) to[i] = T(C(from[i]) * scale[i] + shift[i]);
          },
          [&](std::int64_t at, std::int64_t channel) {
            const C scale = factors[channel], shift = factors[width + channel];
            for (std::int64_t i = 0; i < plan.inner; ++i) y[at + i] = T(C(x[at + i]) * scale + shift);
          });
    };
  });
}

// (x, gamma, beta) -> (mean, variance, scale, shift)
KernelFn make_batch_norm_factors(const KernelSpec& spec) {
  const Shape& shape = spec.input(0).shape;
  const ChannelPlan plan(shape, channel_axis(spec, shape.rank()));
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    using C = Compute<T>;
    return [plan, epsilon = static_cast<C>(spec.attr<double>("epsilon"))](const KernelIO& io) {
      C *mean = io.out<C>(0), *variance = io.out<C>(1);
      moments_of_channels(plan, io.in<T>(0), mean, variance);
      find_factors(plan, io.in<C>(1), io.in<C>(2), mean, variance, epsilon, io.out<C>(2), io.out<C>(3));
    };
  });
}

// Sums of dy and of dy * (x - mean), a value for each channel; dy(element, channel) is what flows back to an element.
template <class C, class Flow, class T>
void flow_sums(const ChannelPlan& plan, const Flow& dy, const T* x, const C* mean, C* flows, C* products) {
  const std::int64_t width = plan.channels;
  if (!plan.channels_last()) {
    parallel_for(width, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t channel = begin; channel < end; ++channel) {
        C flow = 0, product = 0;
        for (std::int64_t block = 0; block < plan.outer; ++block) {
          const std::int64_t at = (block * width + channel) * plan.inner;
          const C center = mean[channel];
          flow += sum_in_lanes<C>(plan.inner, [=](std::int64_t i) { return dy(at + i, channel); });
          product += sum_in_lanes<C>(plan.inner,
                                     [=](std::int64_t i) { return dy(at + i, channel) * (C(x[at + i]) - center); });
        }
        flows[channel] = flow;
        products[channel] = product;
      }
    });
    return;
  }
  C* sums = block_sums.get<C>(plan.blocks() * 2 * width);
  parallel_for(plan.blocks(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t at = block * plan.block_rows * width;
      C* mine = sums + block * 2 * width;
      std::fill_n(mine, 2 * width, C(0));
      add_columns(plan.rows_of(block), width, mine, mine + width, [=](std::int64_t i, std::int64_t channel) {
        const C flow = dy(at + i, channel);
        return std::pair(flow, flow * (C(x[at + i]) - mean[channel]));
      });
    }
  });
  std::fill_n(flows, width, C(0));
  std::fill_n(products, width, C(0));
  for (std::int64_t block = 0; block < plan.blocks(); ++block) {
    const C* more = sums + block * 2 * width;
    for (std::int64_t i = 0; i < width; ++i) flows[i] += more[i];
    for (std::int64_t i = 0; i < width; ++i) products[i] += more[width + i];
  }
}

// (dy, x, gamma, mean, variance) -> (dx, dgamma, dbeta); dx = a * dy + b * x + c with three factors for each channel.
KernelFn make_batch_norm_grad(const KernelSpec& spec) {
  const Shape& shape = spec.input(1).shape;
  const ChannelPlan plan(shape, channel_axis(spec, shape.rank()));
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    using C = Compute<T>;
    return [plan, epsilon = static_cast<C>(spec.attr<double>("epsilon"))](const KernelIO& io) {
      const T *dy = io.in<T>(0), *x = io.in<T>(1), *gamma = io.in<T>(2);
      const C *mean = io.in<C>(3), *variance = io.in<C>(4);
      T *dx = io.out<T>(0), *dgamma = io.out<T>(1), *dbeta = io.out<T>(2);
      const std::int64_t width = plan.channels;
      C* a = channel_factors.get<C>(5 * width);
      C *b = a + width, *c = b + width, *flows = c + width, *products = flows + width;
      flow_sums(
          plan, [=](std::int64_t i, std::int64_t) { return C(dy[i]); }, x, mean, flows, products);
      const C count = static_cast<C>(plan.count());
      for (std::int64_t i = 0; i < width; ++i) {
        const C r = C(1) / std::sqrt(variance[i] + epsilon);
        dgamma[i] = T(products[i] * r);
        dbeta[i] = T(flows[i]);
        a[i] = C(gamma[i]) * r;
        b[i] = -a[i] * r * r * products[i] / count;
        c[i] = -a[i] * flows[i] / count;
      }
      for_elements(
          plan,
          [&](std::int64_t at) {
            const T* __restrict flow = dy + at;
            const T* __restrict from = x + at;
            T* __restrict to = dx + at;
            for (std::int64_t i = 0; i < width; ++i) {
              to[i] = T(a[i] * C(flow[i]) + b[i] * (C(from[i]) - mean[i]) + c[i]);
            }
          },
          [&](std::int64_t at, std::int64_t k) {
            for (std::int64_t i = at; i < at + plan.inner; ++i) {
              dx[i] = T(a[k] * C(dy[i]) + b[k] * (C(x[i]) - mean[k]) + c[k]);
            }
          });
    };
  });
}

// (dy, x, gamma, mean, variance[, scale, shift]) -> (a, b, c, dgamma, dbeta)
KernelFn make_batch_norm_grad_factors(const KernelSpec& spec) {
  const Shape& shape = spec.input(1).shape;
  const ChannelPlan plan(shape, channel_axis(spec, shape.rank()));
  return visit_floating(spec.input(1).dtype, [&]<class T>(T) -> KernelFn {
    using C = Compute<T>;
    const bool masked = spec.num_inputs() > 5;
    return [plan, masked, epsilon = static_cast<C>(spec.attr<double>("epsilon"))](const KernelIO& io) {
      const T *dy = io.in<T>(0), *x = io.in<T>(1);
      const C *gamma = io.in<C>(2), *mean = io.in<C>(3), *variance = io.in<C>(4);
      C *a = io.out<C>(0), *b = io.out<C>(1), *c = io.out<C>(2), *dgamma = io.out<C>(3), *dbeta = io.out<C>(4);
      C* products = channel_factors.get<C>(plan.channels);
      if (masked) {
        const C *scale = io.in<C>(5), *shift = io.in<C>(6);
        const auto flow = [=](std::int64_t i, std::int64_t k) {
          return C(T(C(x[i]) * scale[k] + shift[k])) > C(0) ? C(dy[i]) : C(0);
        };
        flow_sums(plan, flow, x, mean, dbeta, products);
      } else {
        flow_sums(
            plan, [=](std::int64_t i, std::int64_t) { return C(dy[i]); }, x, mean, dbeta, products);
      }
      const C count = static_cast<C>(plan.count());
      for (std::int64_t i = 0; i < plan.channels; ++i) {
        const C r = C(1) / std::sqrt(variance[i] + epsilon);
        dgamma[i] = products[i] * r;
        a[i] = gamma[i] * r;
        b[i] = -a[i] * r * r * products[i] / count;
        c[i] = -a[i] * dbeta[i] / count - b[i] * mean[i];
      }
    };
  });
}

COHORT_KERNEL("BatchNorm", kCPU, make_batch_norm);
COHORT_KERNEL("BatchNormFactors", kCPU, make_batch_norm_factors);
COHORT_KERNEL("BatchNormGrad", kCPU, make_batch_norm_grad);
COHORT_KERNEL("BatchNormGradFactors", kCPU, make_batch_norm_grad_factors);

}  // namespace
}  // namespace cohort::kernels
