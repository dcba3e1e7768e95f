#include "cohort/core/scratch.h"
#include "cohort/kernels/cpu/packed_matrix.h"
#include "cohort/kernels/cpu/recurrence.h"
#include "cohort/kernels/recurrent_inputs.h"
#include "cohort/kernels/scalar_math.h"

namespace cohort {
namespace {

Scratch gru_weights, gru_memory;

// One row: `inputs` and `sums` (what states add, without their bias) of z, r and the candidate; keeps z, r, the
// candidate and the sum of the candidate for the gradient.
template <class T>
void gru_forward_row(const T* inputs, const T* sums, const T* bias, const T* h_before, T* kept, T* h,
                     std::int64_t units) {
  T *z = kept, *r = z + units, *candidate = r + units, *inner = candidate + units;
  for (std::int64_t j = 0; j < 2 * units; ++j) kept[j] = fn::sigmoid(inputs[j] + (sums[j] + bias[j]));
  const std::int64_t last = 2 * units;
#pragma GCC ivdep
  for (std::int64_t j = 0; j < units; ++j) {
    inner[j] = sums[last + j] + bias[last + j];
    candidate[j] = fn::tanh(inputs[last + j] + r[j] * inner[j]);
    h[j] = z[j] * h_before[j] + (T(1) - z[j]) * candidate[j];
  }
}

// From dh to what flows to the inputs (dx) and to the sums of the states (ds); dh becomes what reaches the state before
// past the product.
template <class T>
void gru_backward_row(const T* kept, const T* h_before, T* dh, T* dx, T* ds, std::int64_t units) {
  const T *z = kept, *r = z + units, *candidate = r + units, *inner = candidate + units;
#pragma GCC ivdep
  for (std::int64_t j = 0; j < units; ++j) {
    const T dz = dh[j] * (h_before[j] - candidate[j]) * z[j] * (T(1) - z[j]);
    const T dc = dh[j] * (T(1) - z[j]) * (T(1) - candidate[j] * candidate[j]);
    const T dr = dc * inner[j] * r[j] * (T(1) - r[j]);
    dx[j] = ds[j] = dz;
    dx[units + j] = ds[units + j] = dr;
    dx[2 * units + j] = dc;
    ds[2 * units + j] = dc * r[j];
    dh[j] *= z[j];
  }
}

// Inputs: x (batch, steps, 3 units), h before (batch, units), recurrent_kernel (units, 3 units), recurrent_bias (3
// units), mask (batch, steps) or none. Outputs: h (batch, steps, units), kept (batch, steps, 4 units), the last h.
template <class T>
KernelFn make_gru_forward(const KernelSpec& spec) {
  const Shape& x = spec.input(0).shape;
  const Recurrence r{x[0], x[1], spec.input(1).shape[1], spec.attr<bool>("reverse")};
  const bool masked = spec.num_inputs() > 4;
  return [r, masked](const KernelIO& io) {
    const std::int64_t units = r.units, width = 3 * units;
    const PackedMatrix<T> weights(io.in<T>(2), width, false, units, width,
                                  gru_weights.get<T>(PackedMatrix<T>::size(units, width)));
    T *h = io.out<T>(0), *kept = io.out<T>(1);
    r.for_row_blocks([&](std::int64_t first, std::int64_t rows) {
      T* sums = gru_memory.get<T>(rows * width + PackedMatrix<T>::work_size(units, rows));
      const T* before = io.in<T>(1) + first * units;
      std::int64_t stride = units;  // between rows of the states before
      for (std::int64_t step = 0; step < r.steps; ++step) {
        const std::int64_t time = r.time(step);
        weights.multiply(before, stride, rows, sums, width, sums + rows * width);
        for (std::int64_t k = 0; k < rows; ++k) {
          T *own_h = row_at(h, r, units, first + k, time), *own = row_at(kept, r, 4 * units, first + k, time);
          if (masked && !io.in<bool>(4)[(first + k) * r.steps + time]) {
            std::copy_n(before + k * stride, units, own_h);
            std::fill_n(own, 4 * units, T(0));
            continue;
          }
          gru_forward_row(row_at(io.in<T>(0), r, width, first + k, time), sums + k * width, io.in<T>(3),
                          before + k * stride, own, own_h, units);
        }
        before = row_at(h, r, units, first, time);
        stride = r.steps * units;
      }
      for (std::int64_t k = 0; k < rows; ++k) {
        std::copy_n(before + k * stride, units, io.out<T>(2) + (first + k) * units);
      }
    });
  };
}

// Inputs: recurrent_kernel, h before, h, kept, the gradient of the last h; then the mask and the gradient of h, each if
// it is there. Outputs: gradients of x and of the states' sums (batch, steps, 3 units) and of the h before.
template <class T>
KernelFn make_gru_backward(const KernelSpec& spec) {
  const Shape& h_shape = spec.input(2).shape;
  const Recurrence r{h_shape[0], h_shape[1], h_shape[2], spec.attr<bool>("reverse")};
  const kernels::RecurrentInputs inputs(spec, 5);
  return [r, inputs](const KernelIO& io) {
    const std::int64_t units = r.units, width = 3 * units;
    const PackedMatrix<T> weights(io.in<T>(0), width, true, width, units,
                                  gru_weights.get<T>(PackedMatrix<T>::size(width, units)));
    r.for_row_blocks([&](std::int64_t first, std::int64_t rows) {
      const std::int64_t size = rows * units;
      T* through = gru_memory.get<T>(size + PackedMatrix<T>::work_size(width, rows));
      T *work = through + size, *dh = io.out<T>(2) + first * units;
      std::copy_n(io.in<T>(4) + first * units, size, dh);
      for (std::int64_t step = r.steps - 1; step >= 0; --step) {
        const std::int64_t time = r.time(step);
        for (std::int64_t k = 0; k < rows; ++k) {
          T *own_dh = dh + k * units, *dx = row_at(io.out<T>(0), r, width, first + k, time);
          T* ds = row_at(io.out<T>(1), r, width, first + k, time);
          if (inputs.sequence > 0) {
            const T* given = row_at(io.in<T>(inputs.sequence), r, units, first + k, time);
            for (std::int64_t j = 0; j < units; ++j) own_dh[j] += given[j];
          }
          if (inputs.mask > 0 && !io.in<bool>(inputs.mask)[(first + k) * r.steps + time]) {
            std::fill_n(dx, width, T(0));
            std::fill_n(ds, width, T(0));
            continue;
          }
          const T* h_before =
              step > 0 ? row_at(io.in<T>(2), r, units, first + k, r.time(step - 1)) : io.in<T>(1) + (first + k) * units;
          gru_backward_row(row_at(io.in<T>(3), r, 4 * units, first + k, time), h_before, own_dh, dx, ds, units);
        }
        weights.multiply(row_at(io.out<T>(1), r, width, first, time), r.steps * width, rows, through, units, work);
        for (std::int64_t j = 0; j < size; ++j) dh[j] += through[j];
      }
    });
  };
}

COHORT_KERNEL("GruSequence", kCPU, [](const KernelSpec& spec) {
  return spec.input(0).dtype == DType::Float64 ? make_gru_forward<double>(spec) : make_gru_forward<float>(spec);
});
COHORT_KERNEL("GruSequenceGrad", kCPU, [](const KernelSpec& spec) {
  return spec.input(0).dtype == DType::Float64 ? make_gru_backward<double>(spec) : make_gru_backward<float>(spec);
});

}  // namespace
}  // namespace cohort
