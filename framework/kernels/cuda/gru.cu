#include "cohort/kernels/cuda/recurrence.h"
#include "cohort/kernels/recurrent_inputs.h"

namespace cohort::kernels::cuda {
namespace {

template <class T>
struct GruStep {
  static constexpr int kGates = 3;
  std::int64_t steps, units, time;
  const T *inputs, *bias;
  StatesBefore<T> before;
  const bool* mask;
  T *h, *kept;
  T* last_h;  // null before the last step

  // `sums` are what states add, without their bias. Keeps z, r, the candidate and its sum for the gradient.
  __device__ void operator()(std::int64_t row, std::int64_t unit, const T (&sums)[kGates]) const {
    const std::int64_t at = row * steps + time;
    const T* x = inputs + at * kGates * units + unit;
    T* to = kept + at * 4 * units + unit;
    T z = T(0), r = T(0), candidate = T(0), inner = T(0), next = before.at(row, unit);
    if (step_counts(mask, at)) {
      z = fn::sigmoid(x[0] + (sums[0] + bias[unit]));
      r = fn::sigmoid(x[units] + (sums[1] + bias[units + unit]));
      inner = sums[2] + bias[2 * units + unit];
      candidate = fn::tanh(x[2 * units] + r * inner);
      next = z * next + (T(1) - z) * candidate;
    }
    to[0] = z;
    to[units] = r;
    to[2 * units] = candidate;
    to[3 * units] = inner;
    h[at * units + unit] = next;
    if (last_h) last_h[row * units + unit] = next;
  }
};

// Inputs: x (batch, steps, 3 units), h before (batch, units), recurrent_kernel (units, 3 units), recurrent_bias (3
// units), mask (batch, steps) or none. Outputs: h (batch, steps, units), kept (batch, steps, 4 units), the last h.
template <class T>
KernelFn make_gru_forward(const KernelSpec& spec) {
  const Shape& x = spec.input(0).shape;
  const Recurrence r{x[0], x[1], spec.input(1).shape[1], spec.attr<bool>("reverse")};
  const bool masked = spec.num_inputs() > 4;
  return [r, masked](const KernelIO& io) {
    if (r.empty()) return;
    const cudaStream_t stream = stream_of(io);
    T* h = io.out<T>(0);
    for (std::int64_t step = 0; step < r.steps; ++step) {
      const StatesBefore<T> before(io.in<T>(1), h, r, step);
      const GruStep<T> cell{r.steps,
                            r.units,
                            r.time(step),
                            io.in<T>(0),
                            io.in<T>(3),
                            before,
                            masked ? io.in<bool>(4) : nullptr,
                            h,
                            io.out<T>(1),
                            step + 1 == r.steps ? io.out<T>(2) : nullptr};
      launch_recurrent_step(r, before, io.in<T>(2), cell, stream);
    }
    if (r.steps == 0) copy_states(io.out<T>(2), io.in<T>(1), r, stream);
  };
}

template <class T>
struct GruStepBack {
  std::int64_t steps, units, time;  // time: -1 after the last of these steps
  bool first;                       // of these steps: the last one of the sequence
  const T* given_h;                 // the gradient of the last state
  StatesBefore<T> before;
  const T* kept;
  const bool* mask;
  const T* sequence;  // the gradient of h, or null
  T *dx, *ds;
  T* dh;  // between steps: what reaches the state before past the product

  __device__ void operator()(std::int64_t row, std::int64_t unit, T through) const {
    const std::int64_t own = row * units + unit;
    T flow = first ? given_h[own] : dh[own] + through;
    if (time < 0) {
      dh[own] = flow;
      return;
    }
    const std::int64_t at = row * steps + time;
    if (sequence) flow += sequence[at * units + unit];
    T *to_x = dx + at * 3 * units + unit, *to_s = ds + at * 3 * units + unit;
    if (!step_counts(mask, at)) {
      for (int gate = 0; gate < 3; ++gate) to_x[gate * units] = to_s[gate * units] = T(0);
      dh[own] = flow;
      return;
    }
    const T* from = kept + at * 4 * units + unit;
    const T z = from[0], r = from[units], candidate = from[2 * units], inner = from[3 * units];
    const T dz = flow * (before.at(row, unit) - candidate) * z * (T(1) - z);
    const T dc = flow * (T(1) - z) * (T(1) - candidate * candidate);
    const T dr = dc * inner * r * (T(1) - r);
    to_x[0] = to_s[0] = dz;
    to_x[units] = to_s[units] = dr;
    to_x[2 * units] = dc;
    to_s[2 * units] = dc * r;
    dh[own] = flow * z;
  }
};

// Inputs: recurrent_kernel, h before, h, kept, the gradient of the last h; then the mask and the gradient of h, each if
// it is there. Outputs: gradients of x and of the states' sums (batch, steps, 3 units) and of the h before.
template <class T>
KernelFn make_gru_backward(const KernelSpec& spec) {
  const Shape& h_shape = spec.input(2).shape;
  const Recurrence r{h_shape[0], h_shape[1], h_shape[2], spec.attr<bool>("reverse")};
  const RecurrentInputs inputs(spec, 5);
  return [r, inputs](const KernelIO& io) {
    if (r.empty()) return;
    const cudaStream_t stream = stream_of(io);
    if (r.steps == 0) return copy_states(io.out<T>(2), io.in<T>(4), r, stream);
    for (std::int64_t step = r.steps - 1; step >= -1; --step) {
      const GruStepBack<T> cell{r.steps,
                                r.units,
                                step < 0 ? -1 : r.time(step),
                                step + 1 == r.steps,
                                io.in<T>(4),
                                StatesBefore<T>(io.in<T>(1), io.in<T>(2), r, step),
                                io.in<T>(3),
                                inputs.mask > 0 ? io.in<bool>(inputs.mask) : nullptr,
                                inputs.sequence > 0 ? io.in<T>(inputs.sequence) : nullptr,
                                io.out<T>(0),
                                io.out<T>(1),
                                io.out<T>(2)};
      launch_recurrent_step_back(r, step, io.out<T>(1), 3 * r.units, io.in<T>(0), cell, stream);
    }
  };
}

COHORT_KERNEL("GruSequence", kGPU, [](const KernelSpec& spec) {
  return spec.input(0).dtype == DType::Float64 ? make_gru_forward<double>(spec) : make_gru_forward<float>(spec);
});
COHORT_KERNEL("GruSequenceGrad", kGPU, [](const KernelSpec& spec) {
  return spec.input(0).dtype == DType::Float64 ? make_gru_backward<double>(spec) : make_gru_backward<float>(spec);
});

}  // namespace
}  // namespace cohort::kernels::cuda
