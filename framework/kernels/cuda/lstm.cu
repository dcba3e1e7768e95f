#include "cohort/kernels/cuda/recurrence.h"
#include "cohort/kernels/recurrent_inputs.h"

namespace cohort::kernels::cuda {
namespace {

template <class T>
struct LstmStep {
  static constexpr int kGates = 4;
  std::int64_t steps, units, time;
  const T* inputs;
  StatesBefore<T> h_before, c_before;
  const bool* mask;
  T *h, *c, *gates;
  T *last_h, *last_c;  // null before the last step

  __device__ void operator()(std::int64_t row, std::int64_t unit, const T (&sums)[kGates]) const {
    const std::int64_t at = row * steps + time, own = at * units + unit;
    const T* z = inputs + at * kGates * units + unit;
    T* kept = gates + at * kGates * units + unit;
    T i = T(0), f = T(0), g = T(0), o = T(0);
    T next_h = h_before.at(row, unit), next_c = c_before.at(row, unit);
    if (step_counts(mask, at)) {
      i = fn::sigmoid(z[0] + sums[0]);
      f = fn::sigmoid(z[units] + sums[1]);
      g = fn::tanh(z[2 * units] + sums[2]);
      o = fn::sigmoid(z[3 * units] + sums[3]);
      next_c = f * next_c + i * g;
      next_h = o * fn::tanh(next_c);
    }
    kept[0] = i;
    kept[units] = f;
    kept[2 * units] = g;
    kept[3 * units] = o;
    h[own] = next_h;
    c[own] = next_c;
    if (!last_h) return;
    last_h[row * units + unit] = next_h;
    last_c[row * units + unit] = next_c;
  }
};

// Inputs: z (batch, steps, 4 units), h and c before (batch, units), recurrent_kernel (units, 4 units), mask (batch,
// steps) or none. Outputs: h and c (batch, steps, units), gates (batch, steps, 4 units), the last h and c.
template <class T>
KernelFn make_lstm_forward(const KernelSpec& spec) {
  const Shape& z = spec.input(0).shape;
  const Recurrence r{z[0], z[1], spec.input(1).shape[1], spec.attr<bool>("reverse")};
  const bool masked = spec.num_inputs() > 4;
  return [r, masked](const KernelIO& io) {
    if (r.empty()) return;
    const cudaStream_t stream = stream_of(io);
    T *h = io.out<T>(0), *c = io.out<T>(1);
    for (std::int64_t step = 0; step < r.steps; ++step) {
      const bool last = step + 1 == r.steps;
      const StatesBefore<T> h_before(io.in<T>(1), h, r, step), c_before(io.in<T>(2), c, r, step);
      const LstmStep<T> cell{r.steps,
                             r.units,
                             r.time(step),
                             io.in<T>(0),
                             h_before,
                             c_before,
                             masked ? io.in<bool>(4) : nullptr,
                             h,
                             c,
                             io.out<T>(2),
                             last ? io.out<T>(3) : nullptr,
                             last ? io.out<T>(4) : nullptr};
      launch_recurrent_step(r, h_before, io.in<T>(3), cell, stream);
    }
    if (r.steps > 0) return;
    copy_states(io.out<T>(3), io.in<T>(1), r, stream);
    copy_states(io.out<T>(4), io.in<T>(2), r, stream);
  };
}

template <class T>
struct LstmStepBack {
  std::int64_t steps, units, time, time_after;  // time: -1 after the last of these steps
  bool first;                                   // of these steps: the last one of the sequence
  const T *given_h, *given_c;                   // the gradients of the last states
  StatesBefore<T> c_before;
  const T *c, *gates;
  const bool* mask;
  const T* sequence;  // the gradient of h, or null
  T *dz, *dh, *dc;

  __device__ void operator()(std::int64_t row, std::int64_t unit, T through) const {
    const std::int64_t own = row * units + unit;
    T flow = first ? given_h[own] : step_counts(mask, row * steps + time_after) ? through : dh[own];
    if (time < 0) {
      dh[own] = flow;
      return;
    }
    const std::int64_t at = row * steps + time;
    if (sequence) flow += sequence[at * units + unit];
    const T flow_c = first ? given_c[own] : dc[own];
    T* to = dz + at * 4 * units + unit;
    if (!step_counts(mask, at)) {
      for (int gate = 0; gate < 4; ++gate) to[gate * units] = T(0);
      dh[own] = flow;
      dc[own] = flow_c;
      return;
    }
    const T* kept = gates + at * 4 * units + unit;
    const T i = kept[0], f = kept[units], g = kept[2 * units], o = kept[3 * units];
    const T squashed = fn::tanh(c[at * units + unit]);
    const T carry = flow_c + flow * o * (T(1) - squashed * squashed);
    to[0] = carry * g * i * (T(1) - i);
    to[units] = carry * c_before.at(row, unit) * f * (T(1) - f);
    to[2 * units] = carry * i * (T(1) - g * g);
    to[3 * units] = flow * squashed * o * (T(1) - o);
    dc[own] = carry * f;
  }
};

// Inputs: recurrent_kernel, c before, c, gates, gradients of the last h and c; then the mask and the gradient of h,
// each if it is there. Outputs: gradients of z (batch, steps, 4 units) and of the h and c before.
template <class T>
KernelFn make_lstm_backward(const KernelSpec& spec) {
  const Shape& c_shape = spec.input(2).shape;
  const Recurrence r{c_shape[0], c_shape[1], c_shape[2], spec.attr<bool>("reverse")};
  const RecurrentInputs inputs(spec, 6);
  return [r, inputs](const KernelIO& io) {
    if (r.empty()) return;
    const cudaStream_t stream = stream_of(io);
    if (r.steps == 0) {
      copy_states(io.out<T>(1), io.in<T>(4), r, stream);
      copy_states(io.out<T>(2), io.in<T>(5), r, stream);
      return;
    }
    for (std::int64_t step = r.steps - 1; step >= -1; --step) {
      const bool first = step + 1 == r.steps;
      const LstmStepBack<T> cell{r.steps,
                                 r.units,
                                 step < 0 ? -1 : r.time(step),
                                 first ? -1 : r.time(step + 1),
                                 first,
                                 io.in<T>(4),
                                 io.in<T>(5),
                                 StatesBefore<T>(io.in<T>(1), io.in<T>(2), r, step),
                                 io.in<T>(2),
                                 io.in<T>(3),
                                 inputs.mask > 0 ? io.in<bool>(inputs.mask) : nullptr,
                                 inputs.sequence > 0 ? io.in<T>(inputs.sequence) : nullptr,
                                 io.out<T>(0),
                                 io.out<T>(1),
                                 io.out<T>(2)};
      launch_recurrent_step_back(r, step, io.out<T>(0), 4 * r.units, io.in<T>(0), cell, stream);
    }
  };
}

COHORT_KERNEL("LstmSequence", kGPU, [](const KernelSpec& spec) {
  return spec.input(0).dtype == DType::Float64 ? make_lstm_forward<double>(spec) : make_lstm_forward<float>(spec);
});
COHORT_KERNEL("LstmSequenceGrad", kGPU, [](const KernelSpec& spec) {
  return spec.input(0).dtype == DType::Float64 ? make_lstm_backward<double>(spec) : make_lstm_backward<float>(spec);
});

}  // namespace
}  // namespace cohort::kernels::cuda
