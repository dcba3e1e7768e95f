#include "cohort/core/scratch.h"
#include "cohort/kernels/cpu/packed_matrix.h"
#include "cohort/kernels/cpu/recurrence.h"
#include "cohort/kernels/recurrent_inputs.h"
#include "cohort/kernels/scalar_math.h"

namespace cohort {
namespace {

Scratch lstm_weights, lstm_memory;

// Gates of one row, i, f, g, o one after the other: from what inputs and states add up to, in place of the sums.
template <class T>
void activate(const T* inputs, const T* sums, T* gates, std::int64_t units) {
  for (std::int64_t j = 0; j < 2 * units; ++j) gates[j] = fn::sigmoid(inputs[j] + sums[j]);
  for (std::int64_t j = 2 * units; j < 3 * units; ++j) gates[j] = fn::tanh(inputs[j] + sums[j]);
  for (std::int64_t j = 3 * units; j < 4 * units; ++j) gates[j] = fn::sigmoid(inputs[j] + sums[j]);
}

template <class T>
void next_states(const T* gates, const T* c_before, T* c, T* h, std::int64_t units) {
  const T *i = gates, *f = i + units, *g = f + units, *o = g + units;
#pragma GCC ivdep
  for (std::int64_t j = 0; j < units; ++j) {
    c[j] = f[j] * c_before[j] + i[j] * g[j];
    h[j] = o[j] * fn::tanh(c[j]);
  }
}

// What flows to the sums of the gates from dh and dc, which becomes what flows to the carry before.
template <class T>
void lstm_backward_row(const T* gates, const T* c_before, const T* c, const T* dh, T* dc, T* dz, std::int64_t units) {
  const T *i = gates, *f = i + units, *g = f + units, *o = g + units;
  T *di = dz, *df = di + units, *dg = df + units, *d_o = dg + units;
#pragma GCC ivdep
  for (std::int64_t j = 0; j < units; ++j) {
    const T squashed = fn::tanh(c[j]);
    const T carry = dc[j] + dh[j] * o[j] * (T(1) - squashed * squashed);
    di[j] = carry * g[j] * i[j] * (T(1) - i[j]);
    df[j] = carry * c_before[j] * f[j] * (T(1) - f[j]);
    dg[j] = carry * i[j] * (T(1) - g[j] * g[j]);
    d_o[j] = dh[j] * squashed * o[j] * (T(1) - o[j]);
    dc[j] = carry * f[j];
  }
}

// Inputs: z (batch, steps, 4 units), h and c before (batch, units), recurrent_kernel (units, 4 units), mask (batch,
// steps) or none. Outputs: h and c (batch, steps, units), gates (batch, steps, 4 units), the last h and c.
template <class T>
KernelFn make_lstm_forward(const KernelSpec& spec) {
  const Shape& z = spec.input(0).shape;
  const Recurrence r{z[0], z[1], spec.input(1).shape[1], spec.attr<bool>("reverse")};
  const bool masked = spec.num_inputs() > 4;
  return [r, masked](const KernelIO& io) {
    const std::int64_t units = r.units, width = 4 * units;
    const PackedMatrix<T> weights(io.in<T>(3), width, false, units, width,
                                  lstm_weights.get<T>(PackedMatrix<T>::size(units, width)));
    T *h = io.out<T>(0), *c = io.out<T>(1), *gates = io.out<T>(2);
    r.for_row_blocks([&](std::int64_t first, std::int64_t rows) {
      T* sums = lstm_memory.get<T>(rows * width + PackedMatrix<T>::work_size(units, rows));
      const T *h_before = io.in<T>(1) + first * units, *c_before = io.in<T>(2) + first * units;
      std::int64_t stride = units;  // between rows of the states before
      for (std::int64_t step = 0; step < r.steps; ++step) {
        const std::int64_t time = r.time(step);
        weights.multiply(h_before, stride, rows, sums, width, sums + rows * width);
        for (std::int64_t k = 0; k < rows; ++k) {
          T *own_h = row_at(h, r, units, first + k, time), *own_c = row_at(c, r, units, first + k, time);
          T* own_gates = row_at(gates, r, width, first + k, time);
          if (masked && !io.in<bool>(4)[(first + k) * r.steps + time]) {
            std::copy_n(h_before + k * stride, units, own_h);
            std::copy_n(c_before + k * stride, units, own_c);
            std::fill_n(own_gates, width, T(0));
            continue;
          }
          activate(row_at(io.in<T>(0), r, width, first + k, time), sums + k * width, own_gates, units);
          next_states(own_gates, c_before + k * stride, own_c, own_h, units);
        }
        h_before = row_at(h, r, units, first, time);
        c_before = row_at(c, r, units, first, time);
        stride = r.steps * units;
      }
      for (std::int64_t k = 0; k < rows; ++k) {
        std::copy_n(h_before + k * stride, units, io.out<T>(3) + (first + k) * units);
        std::copy_n(c_before + k * stride, units, io.out<T>(4) + (first + k) * units);
      }
    });
  };
}

// Inputs: recurrent_kernel, c before, c, gates, gradients of the last h and c; then the mask and the gradient of h,
// each if it is there. Outputs: gradients of z (batch, steps, 4 units) and of the h and c before.
template <class T>
KernelFn make_lstm_backward(const KernelSpec& spec) {
  const Shape& c_shape = spec.input(2).shape;
  const Recurrence r{c_shape[0], c_shape[1], c_shape[2], spec.attr<bool>("reverse")};
  const kernels::RecurrentInputs inputs(spec, 6);
  return [r, inputs](const KernelIO& io) {
    const std::int64_t units = r.units, width = 4 * units;
    const PackedMatrix<T> weights(io.in<T>(0), width, true, width, units,
                                  lstm_weights.get<T>(PackedMatrix<T>::size(width, units)));
    r.for_row_blocks([&](std::int64_t first, std::int64_t rows) {
      const std::int64_t size = rows * units;
      T* dh = lstm_memory.get<T>(2 * size + PackedMatrix<T>::work_size(width, rows));
      T *through = dh + size, *work = through + size;
      T* dc = io.out<T>(2) + first * units;
      std::copy_n(io.in<T>(4) + first * units, size, dh);
      std::copy_n(io.in<T>(5) + first * units, size, dc);
      for (std::int64_t step = r.steps - 1; step >= 0; --step) {
        const std::int64_t time = r.time(step);
        const auto counts = [&](std::int64_t k) {
          return inputs.mask < 0 || io.in<bool>(inputs.mask)[(first + k) * r.steps + time];
        };
        for (std::int64_t k = 0; k < rows; ++k) {
          T *own_dh = dh + k * units, *dz = row_at(io.out<T>(0), r, width, first + k, time);
          if (inputs.sequence > 0) {
            const T* given = row_at(io.in<T>(inputs.sequence), r, units, first + k, time);
            for (std::int64_t j = 0; j < units; ++j) own_dh[j] += given[j];
          }
          if (!counts(k)) {
            std::fill_n(dz, width, T(0));
            continue;
          }
          const T* c_before =
              step > 0 ? row_at(io.in<T>(2), r, units, first + k, r.time(step - 1)) : io.in<T>(1) + (first + k) * units;
          lstm_backward_row(row_at(io.in<T>(3), r, width, first + k, time), c_before,
                            row_at(io.in<T>(2), r, units, first + k, time), own_dh, dc + k * units, dz, units);
        }
        weights.multiply(row_at(io.out<T>(0), r, width, first, time), r.steps * width, rows, through, units, work);
        for (std::int64_t k = 0; k < rows; ++k) {
          if (counts(k)) std::copy_n(through + k * units, units, dh + k * units);
        }
      }
      std::copy_n(dh, size, io.out<T>(1) + first * units);
    });
  };
}

COHORT_KERNEL("LstmSequence", kCPU, [](const KernelSpec& spec) {
  return spec.input(0).dtype == DType::Float64 ? make_lstm_forward<double>(spec) : make_lstm_forward<float>(spec);
});
COHORT_KERNEL("LstmSequenceGrad", kCPU, [](const KernelSpec& spec) {
  return spec.input(0).dtype == DType::Float64 ? make_lstm_backward<double>(spec) : make_lstm_backward<float>(spec);
});

}  // namespace
}  // namespace cohort
