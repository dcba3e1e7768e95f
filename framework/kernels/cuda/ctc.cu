#include <algorithm>
#include <cmath>

#include "cohort/kernels/cuda/groups.h"
#include "cohort/kernels/cuda/launch.h"
#include "cohort/kernels/cuda/typed_elements.h"
#include "cohort/kernels/refusals.h"

namespace cohort::kernels::cuda {
namespace {

constexpr int kCtcThreads = 128;
// Samples that are worked on at the same time; each needs working memory.
constexpr std::int64_t kBlocks = 264;

__device__ inline double never() { return static_cast<double>(-fn::infinity()); }
__device__ inline double log_add(double a, double b) {
  const double larger = a < b ? b : a, smaller = a < b ? a : b;
  return larger == never() ? larger : larger + log1p(exp(smaller - larger));
}
__device__ inline double larger_of(double a, double b) { return a < b ? b : a; }

struct CtcSizes {
  std::int64_t batch, steps, classes, length, blank;
  // States are label 0 (the start, never observed) to label `length`, then blank 0 to blank `length`.
  __host__ __device__ std::int64_t labels() const { return length + 1; }
  __host__ __device__ std::int64_t states() const { return 2 * labels(); }
  // Working memory of a block, in numbers.
  __host__ __device__ std::int64_t memory() const { return steps * states() + steps + 4 * states(); }
};

struct Checks {
  cohort::cuda::ErrorRecord* errors;
  unsigned int label_site, length_site;
};

template <class C>
struct CtcTensors {
  const std::int32_t* targets;
  TypedElements<C> logits;
  const std::int32_t *target_lengths, *output_lengths;
  TypedElements<C> losses, gradients;
};

// One sample, walked through by the threads of a block. A blank follows its label, label k + 1 follows label k when
// they differ, or blank k.
template <class C>
struct Sample {
  const CtcSizes& sizes;
  const std::int32_t* target;
  TypedElements<C> logits, gradients;
  std::int64_t first;  // element of logits and gradients
  std::int64_t target_length, output_length;
  double *reached, *norms, *start, *later, *spare, *weights;
  double* shared;

  __device__ Sample(const CtcSizes& sizes, const CtcTensors<C>& tensors, std::int64_t index, double* memory,
                    double* shared)
      : sizes(sizes),
        target(tensors.targets + index * sizes.length),
        logits(tensors.logits),
        gradients(tensors.gradients),
        first(index * sizes.steps * sizes.classes),
        target_length(tensors.target_lengths[index]),
        output_length(tensors.output_lengths[index]),
        reached(memory),
        norms(reached + sizes.steps * sizes.states()),
        start(norms + sizes.steps),
        later(start + sizes.states()),
        spare(later + sizes.states()),
        weights(spare + sizes.states()),
        shared(shared) {}

  // Whether labels and lengths can be worked with; reports what cannot.
  __device__ bool is_valid(const Checks& checks, std::int64_t index) const {
    bool is_bad = false;
    for (std::int64_t k = threadIdx.x; k < sizes.length; k += kCtcThreads) {
      if (target[k] >= 0 && target[k] < sizes.classes) continue;
      is_bad = true;
      cohort::cuda::report(checks.errors, checks.label_site, index * sizes.length + k, target[k]);
    }
    if (target_length < 0 || target_length > sizes.length || output_length < 0 || output_length > sizes.steps) {
      is_bad = true;
      cohort::cuda::report(checks.errors, checks.length_site, target_length, output_length);
    }
    return !__syncthreads_or(is_bad);
  }

  __device__ std::int64_t class_of(std::int64_t state) const {
    return state > sizes.length ? sizes.blank : static_cast<std::int64_t>(target[state - 1]);
  }
  __device__ bool may_skip(std::int64_t label) const { return label >= 2 && target[label - 2] != target[label - 1]; }
  __device__ double log_p(std::int64_t step, std::int64_t c) const {
    return static_cast<double>(logits[first + step * sizes.classes + c]) - norms[step];
  }
  __device__ double observed(std::int64_t step, std::int64_t state) const {
    return state == 0 ? never() : log_p(step, class_of(state));
  }

  // A warp for each step.
  __device__ void find_norms() const {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    for (std::int64_t step = threadIdx.x / kWarp; step < output_length; step += kCtcThreads / kWarp) {
      const std::int64_t row = first + step * sizes.classes;
      double largest = never(), sum = 0;
      for (std::int64_t c = lane; c < sizes.classes; c += kWarp) {
        largest = larger_of(largest, static_cast<double>(logits[row + c]));
      }
      largest = merge_group(largest, kWarp, shared, [](double a, double b) { return larger_of(a, b); });
      for (std::int64_t c = lane; c < sizes.classes; c += kWarp) {
        sum += exp(static_cast<double>(logits[row + c]) - largest);
      }
      sum = sum_group(sum, kWarp, shared);
      if (lane == 0) norms[step] = largest + log(sum);
    }
  }

  // All that leads to each state.
  __device__ void walk_forward(double forbidden) const {
    for (std::int64_t s = threadIdx.x; s < sizes.states(); s += kCtcThreads) start[s] = s == 0 ? 0 : forbidden;
    __syncthreads();
    const std::int64_t labels = sizes.labels();
    const double* now = start;
    for (std::int64_t step = 0; step < output_length; ++step) {
      double* next = reached + step * sizes.states();
      for (std::int64_t k = threadIdx.x; k < labels; k += kCtcThreads) {
        double label = now[k];
        if (k >= 1) label = log_add(label, now[labels + k - 1]);
        if (k == 1) label = log_add(label, now[0]);
        if (may_skip(k)) label = log_add(label, now[k - 1]);
        next[k] = label + observed(step, k);
        next[labels + k] = log_add(now[labels + k], now[k]) + observed(step, labels + k);
      }
      __syncthreads();
      now = next;
    }
  }

  // How likely each state is at a step, and from that the gradient.
  __device__ void write_gradient(std::int64_t step) const {
    const double* now = reached + step * sizes.states();
    double largest = never(), sum = 0;
    for (std::int64_t s = threadIdx.x; s < sizes.states(); s += kCtcThreads) {
      largest = larger_of(largest, now[s] + later[s]);
    }
    largest = merge_group(largest, kCtcThreads, shared, [](double a, double b) { return larger_of(a, b); });
    for (std::int64_t s = threadIdx.x; s < sizes.states(); s += kCtcThreads) sum += exp(now[s] + later[s] - largest);
    const double total = largest + log(sum_group(sum, kCtcThreads, shared));
    for (std::int64_t s = threadIdx.x; s < sizes.states(); s += kCtcThreads) {
      weights[s] = exp(now[s] + later[s] - total);
      spare[s] = later[s] + observed(step, s);
    }
    __syncthreads();
    for (std::int64_t c = threadIdx.x; c < sizes.classes; c += kCtcThreads) {
      double share = 0;
      if (c == sizes.blank) {
        for (std::int64_t s = sizes.labels(); s < sizes.states(); ++s) share += weights[s];
      } else {
        // A padding label is no label: what passes through its state counts for no class.
        for (std::int64_t s = 1; s < sizes.labels(); ++s) share += target[s - 1] == c ? weights[s] : 0;
      }
      gradients.set(first + step * sizes.classes + c, static_cast<C>(exp(log_p(step, c)) - share));
    }
  }

  // All that follows on each state; returns what follows on the start.
  __device__ double walk_backward(double forbidden) const {
    const std::int64_t labels = sizes.labels();
    for (std::int64_t s = threadIdx.x; s < sizes.states(); s += kCtcThreads) {
      later[s] = s % labels == target_length ? 0 : forbidden;
    }
    __syncthreads();
    for (std::int64_t step = output_length - 1; step >= 0; --step) {
      write_gradient(step);
      for (std::int64_t k = threadIdx.x; k < labels; k += kCtcThreads) {
        double label = log_add(spare[k], spare[labels + k]), pause = spare[labels + k];
        if (k + 1 < labels) {
          pause = log_add(pause, spare[k + 1]);
          if (k == 0 || may_skip(k + 1)) label = log_add(label, spare[k + 1]);
        }
        later[k] = label;
        later[labels + k] = pause;
      }
      __syncthreads();
    }
    return later[0];
  }
};

template <class C>
__global__ void __launch_bounds__(kCtcThreads)
    ctc_samples(CtcTensors<C> tensors, CtcSizes sizes, double forbidden, double* memory, Checks checks) {
  __shared__ double shared[kMostWarps];
  for (std::int64_t index = blockIdx.x; index < sizes.batch; index += gridDim.x) {
    const Sample<C> sample(sizes, tensors, index, memory + blockIdx.x * sizes.memory(), shared);
    if (!sample.is_valid(checks, index)) continue;
    sample.find_norms();
    for (std::int64_t i = sample.output_length * sizes.classes + threadIdx.x; i < sizes.steps * sizes.classes;
         i += kCtcThreads) {
      tensors.gradients.set(sample.first + i, C(0));
    }
    sample.walk_forward(forbidden);
    const double total = sample.walk_backward(forbidden);
    if (threadIdx.x == 0) tensors.losses.set(index, static_cast<C>(-total));
    __syncthreads();  // before the next sample takes this one's memory
  }
}

KernelFn make_ctc_loss(const KernelSpec& spec) {
  const Shape target = spec.input(0).shape, output = spec.input(1).shape;
  const CtcSizes sizes{output[0], output[1], output[2], target[1], spec.attr<std::int64_t>("mask_index")};
  // What it costs to begin or end elsewhere than allowed: finite, so that a label too long for its steps has a loss.
  const double forbidden = std::log(1e-307);
  const DType dtype = spec.input(1).dtype;
  auto* device = &cohort::cuda::device_of(spec);
  const std::int64_t blocks = std::min(sizes.batch, kBlocks);
  if (blocks == 0) return [](const KernelIO&) {};
  device->reserve_workspace(static_cast<std::size_t>(blocks * sizes.memory()) * sizeof(double));
  const Checks checks{device->error_record(),
                      cohort::cuda::add_check(spec,
                                              [sizes](std::int64_t position, std::int64_t label) {
                                                refuse_ctc_label(position, sizes.length, label, sizes.classes);
                                              }),
                      cohort::cuda::add_check(spec, [](std::int64_t target_length, std::int64_t output_length) {
                        refuse_ctc_lengths(target_length, output_length);
                      })};
  return visit_computed_floating(dtype, [&](auto type) -> KernelFn {
    using C = typename decltype(type)::type;
    return [=](const KernelIO& io) {
      const CtcTensors<C> tensors{io.in<std::int32_t>(0), {io.inputs[1], dtype},  io.in<std::int32_t>(2),
                                  io.in<std::int32_t>(3), {io.outputs[0], dtype}, {io.outputs[1], dtype}};
      ctc_samples<C><<<static_cast<unsigned int>(blocks), kCtcThreads, 0, stream_of(io)>>>(
          tensors, sizes, forbidden, static_cast<double*>(device->workspace()), checks);
      cohort::cuda::check(cudaGetLastError());
    };
  });
}

COHORT_KERNEL("CTCLoss", kGPU, make_ctc_loss);

}  // namespace
}  // namespace cohort::kernels::cuda
