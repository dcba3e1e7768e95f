#include "cohort/kernels/cuda/recurrence.h"
#include "cohort/kernels/recurrent_inputs.h"

namespace cohort::kernels::cuda {
namespace {

template <class T>
struct SimpleRnnStep {
  static constexpr int kGates = 1;
  std::int64_t steps, units, time;
  const T* inputs;
  StatesBefore<T> before;
  const bool* mask;
  T* h;
  T* last_h;  // null before the last step

  __device__ void operator()(std::int64_t row, std::int64_t unit, const T (&sums)[kGates]) const {
    const std::int64_t at = row * steps + time, own = at * units + unit;
    const T next = step_counts(mask, at) ? fn::tanh(inputs[own] + sums[0]) : before.at(row, unit);
    h[own] = next;
    if (last_h) last_h[row * units + unit] = next;
  }
};

// Inputs: x (batch, steps, units), h before (batch, units), recurrent_kernel (units, units), mask (batch, steps) or
// none. Outputs: h (batch, steps, units), the last h.
template <class T>
KernelFn make_simple_rnn_forward(const KernelSpec& spec) {
  const Shape& x = spec.input(0).shape;
  const Recurrence r{x[0], x[1], x[2], spec.attr<bool>("reverse")};
  const bool masked = spec.num_inputs() > 3;
  return [r, masked](const KernelIO& io) {
    if (r.empty()) return;
    const cudaStream_t stream = stream_of(io);
    T* h = io.out<T>(0);
    for (std::int64_t step = 0; step < r.steps; ++step) {
      const StatesBefore<T> before(io.in<T>(1), h, r, step);
      const SimpleRnnStep<T> cell{r.steps,
                                  r.units,
                                  r.time(step),
                                  io.in<T>(0),
                                  before,
                                  masked ? io.in<bool>(3) : nullptr,
                                  h,
                                  step + 1 == r.steps ? io.out<T>(1) : nullptr};
      launch_recurrent_step(r, before, io.in<T>(2), cell, stream);
    }
    if (r.steps == 0) copy_states(io.out<T>(1), io.in<T>(1), r, stream);
  };
}

template <class T>
struct SimpleRnnStepBack {
  std::int64_t steps, units, time, time_after;  // time: -1 after the last of these steps
  bool first;                                   // of these steps: the last one of the sequence
  const T* given_h;                             // the gradient of the last state
  const T* h;
  const bool* mask;
  const T* sequence;  // the gradient of h, or null
  T *dx, *dh;

  __device__ void operator()(std::int64_t row, std::int64_t unit, T through) const {
    const std::int64_t own = row * units + unit;
    T flow = first ? given_h[own] : step_counts(mask, row * steps + time_after) ? through : dh[own];
    if (time < 0) {
      dh[own] = flow;
      return;
    }
    const std::int64_t at = row * steps + time, to = at * units + unit;
    if (sequence) flow += sequence[to];
    const bool counted = step_counts(mask, at);
    dx[to] = counted ? flow * (T(1) - h[to] * h[to]) : T(0);
    if (!counted) dh[own] = flow;
  }
};

// Inputs: recurrent_kernel, h, the gradient of the last h; then the mask and the gradient of h, each if it is there.
// Outputs: gradients of x (batch, steps, units) and of the h before.
template <class T>
KernelFn make_simple_rnn_backward(const KernelSpec& spec) {
  const Shape& h_shape = spec.input(1).shape;
  const Recurrence r{h_shape[0], h_shape[1], h_shape[2], spec.attr<bool>("reverse")};
  const RecurrentInputs inputs(spec, 3);
  return [r, inputs](const KernelIO& io) {
    if (r.empty()) return;
    const cudaStream_t stream = stream_of(io);
    if (r.steps == 0) return copy_states(io.out<T>(1), io.in<T>(2), r, stream);
    for (std::int64_t step = r.steps - 1; step >= -1; --step) {
      const bool first = step + 1 == r.steps;
      const SimpleRnnStepBack<T> cell{r.steps,
                                      r.units,
                                      step < 0 ? -1 : r.time(step),
                                      first ? -1 : r.time(step + 1),
                                      first,
                                      io.in<T>(2),
                                      io.in<T>(1),
                                      inputs.mask > 0 ? io.in<bool>(inputs.mask) : nullptr,
                                      inputs.sequence > 0 ? io.in<T>(inputs.sequence) : nullptr,
                                      io.out<T>(0),
                                      io.out<T>(1)};
      launch_recurrent_step_back(r, step, io.out<T>(0), r.units, io.in<T>(0), cell, stream);
    }
  };
}

COHORT_KERNEL("SimpleRnnSequence", kGPU, [](const KernelSpec& spec) {
  return spec.input(0).dtype == DType::Float64 ? make_simple_rnn_forward<double>(spec)
                                               : make_simple_rnn_forward<float>(spec);
});
COHORT_KERNEL("SimpleRnnSequenceGrad", kGPU, [](const KernelSpec& spec) {
  return spec.input(0).dtype == DType::Float64 ? make_simple_rnn_backward<double>(spec)
                                               : make_simple_rnn_backward<float>(spec);
});

}  // namespace
}  // namespace cohort::kernels::cuda
