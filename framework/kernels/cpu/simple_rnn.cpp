#include "cohort/core/scratch.h"
#include "cohort/kernels/cpu/packed_matrix.h"
#include "cohort/kernels/cpu/recurrence.h"
#include "cohort/kernels/recurrent_inputs.h"
#include "cohort/kernels/scalar_math.h"

namespace cohort {
namespace {

Scratch simple_rnn_weights, simple_rnn_memory;

// Inputs: x (batch, steps, units), h before (batch, units), recurrent_kernel (units, units), mask (batch, steps) or
// none. Outputs: h (batch, steps, units), the last h.
template <class T>
KernelFn make_simple_rnn_forward(const KernelSpec& spec) {
  const Shape& x = spec.input(0).shape;
  const Recurrence r{x[0], x[1], x[2], spec.attr<bool>("reverse")};
  const bool masked = spec.num_inputs() > 3;
  return [r, masked](const KernelIO& io) {
    const std::int64_t units = r.units;
    const PackedMatrix<T> weights(io.in<T>(2), units, false, units, units,
                                  simple_rnn_weights.get<T>(PackedMatrix<T>::size(units, units)));
    r.for_row_blocks([&](std::int64_t first, std::int64_t rows) {
      T* sums = simple_rnn_memory.get<T>(rows * units + PackedMatrix<T>::work_size(units, rows));
      const T* before = io.in<T>(1) + first * units;
      std::int64_t stride = units;  // between rows of the states before
      for (std::int64_t step = 0; step < r.steps; ++step) {
        const std::int64_t time = r.time(step);
        weights.multiply(before, stride, rows, sums, units, sums + rows * units);
        for (std::int64_t k = 0; k < rows; ++k) {
          T* h = row_at(io.out<T>(0), r, units, first + k, time);
          if (masked && !io.in<bool>(3)[(first + k) * r.steps + time]) {
            std::copy_n(before + k * stride, units, h);
            continue;
          }
          const T *input = row_at(io.in<T>(0), r, units, first + k, time), *sum = sums + k * units;
          for (std::int64_t j = 0; j < units; ++j) h[j] = fn::tanh(input[j] + sum[j]);
        }
        before = row_at(io.out<T>(0), r, units, first, time);
        stride = r.steps * units;
      }
      for (std::int64_t k = 0; k < rows; ++k) {
        std::copy_n(before + k * stride, units, io.out<T>(1) + (first + k) * units);
      }
    });
  };
}

// Inputs: recurrent_kernel, h, the gradient of the last h; then the mask and the gradient of h, each if it is there.
// Outputs: gradients of x (batch, steps, units) and of the h before.
template <class T>
KernelFn make_simple_rnn_backward(const KernelSpec& spec) {
  const Shape& h_shape = spec.input(1).shape;
  const Recurrence r{h_shape[0], h_shape[1], h_shape[2], spec.attr<bool>("reverse")};
  const kernels::RecurrentInputs inputs(spec, 3);
  return [r, inputs](const KernelIO& io) {
    const std::int64_t units = r.units;
    const PackedMatrix<T> weights(io.in<T>(0), units, true, units, units,
                                  simple_rnn_weights.get<T>(PackedMatrix<T>::size(units, units)));
    r.for_row_blocks([&](std::int64_t first, std::int64_t rows) {
      T* through = simple_rnn_memory.get<T>(rows * units + PackedMatrix<T>::work_size(units, rows));
      T *work = through + rows * units, *dh = io.out<T>(1) + first * units;
      std::copy_n(io.in<T>(2) + first * units, rows * units, dh);
      for (std::int64_t step = r.steps - 1; step >= 0; --step) {
        const std::int64_t time = r.time(step);
        const auto counts = [&](std::int64_t k) {
          return inputs.mask < 0 || io.in<bool>(inputs.mask)[(first + k) * r.steps + time];
        };
        for (std::int64_t k = 0; k < rows; ++k) {
          T *own_dh = dh + k * units, *dx = row_at(io.out<T>(0), r, units, first + k, time);
          if (inputs.sequence > 0) {
            const T* given = row_at(io.in<T>(inputs.sequence), r, units, first + k, time);
            for (std::int64_t j = 0; j < units; ++j) own_dh[j] += given[j];
          }
          if (!counts(k)) {
            std::fill_n(dx, units, T(0));
            continue;
          }
          const T* h = row_at(io.in<T>(1), r, units, first + k, time);
          for (std::int64_t j = 0; j < units; ++j) dx[j] = own_dh[j] * (T(1) - h[j] * h[j]);
        }
        weights.multiply(row_at(io.out<T>(0), r, units, first, time), r.steps * units, rows, through, units, work);
        for (std::int64_t k = 0; k < rows; ++k) {
          if (counts(k)) std::copy_n(through + k * units, units, dh + k * units);
        }
      }
    });
  };
}

COHORT_KERNEL("SimpleRnnSequence", kCPU, [](const KernelSpec& spec) {
  return spec.input(0).dtype == DType::Float64 ? make_simple_rnn_forward<double>(spec)
                                               : make_simple_rnn_forward<float>(spec);
});
COHORT_KERNEL("SimpleRnnSequenceGrad", kCPU, [](const KernelSpec& spec) {
  return spec.input(0).dtype == DType::Float64 ? make_simple_rnn_backward<double>(spec)
                                               : make_simple_rnn_backward<float>(spec);
});

}  // namespace
}  // namespace cohort
