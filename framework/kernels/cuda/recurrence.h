#pragma once

#include <cstdint>

#include "cohort/kernels/cuda/launch.h"
#include "cohort/kernels/scalar_math.h"

// Recurrences over (batch, steps, ...): one launch for each step, which multiplies what the step before left by the
// recurrent weights and goes on to the cell with the sums still in registers.

namespace cohort::kernels::cuda {

struct Recurrence {
  std::int64_t batch = 0, steps = 0, units = 0;
  bool reverse = false;

  // The place in the sequence of the step that comes `step`-th.
  std::int64_t time(std::int64_t step) const { return reverse ? steps - 1 - step : step; }
  bool empty() const { return batch == 0 || units == 0; }
};

// The states that a step begins with: the initial ones, later those of the step before in the sequence of all.
template <class T>
struct StatesBefore {
  const T* memory;
  std::int64_t stride;  // between rows of the batch
  StatesBefore(const T* initial, const T* sequence, const Recurrence& r, std::int64_t step)
      : memory(step > 0 ? sequence + r.time(step - 1) * r.units : initial),
        stride(step > 0 ? r.steps * r.units : r.units) {}
  __device__ T at(std::int64_t row, std::int64_t unit) const { return memory[row * stride + unit]; }
};

// A matrix of rows, not necessarily one after the other, that is multiplied by weights.
template <class T>
struct RecurrentRows {
  const T* memory;
  std::int64_t stride, depth;
};

// A block has 8 units and 32 rows of the batch for each row of a thread; a thread has one unit of its rows.
inline constexpr int kUnitsOfBlock = 8, kThreadRows = kBlock / kUnitsOfBlock;

struct RecurrentPlace {
  std::int64_t first_row, first_unit;
  __device__ RecurrentPlace(std::int64_t units, int rows_of_thread) {
    const std::int64_t tiles = (units + kUnitsOfBlock - 1) / kUnitsOfBlock;
    first_unit = blockIdx.x % tiles * kUnitsOfBlock;
    first_row = blockIdx.x / tiles * (kThreadRows * rows_of_thread);
  }
};

// sums[r][g] = the product of the thread's row r with the column of weights that belongs to gate g of its unit. Weights
// are (depth, kGates * units); kTransposed, with one gate, (units, depth).
template <bool kTransposed, int kGates, int kRows, class T>
__device__ void multiply_rows(const RecurrentRows<T>& rows, const T* weights, std::int64_t batch, std::int64_t units,
                              const RecurrentPlace& place, T (&sums)[kRows][kGates]) {
  constexpr int kDepth = kRows == 1 ? 64 : 32, kTileRows = kThreadRows * kRows;
  constexpr int kVector = 16 / static_cast<int>(sizeof(T));
  constexpr int kFetchedRows = kTileRows * kDepth / kBlock, kFetchedWeights = kDepth * kUnitsOfBlock * kGates / kBlock;
  static_assert(!kTransposed || kGates == 1);
  struct alignas(16) Vector {
    T values[kVector];
  };
  __shared__ alignas(16) T shared_rows[kTileRows][kDepth + kVector];
  __shared__ alignas(16) T shared_weights[kDepth][kUnitsOfBlock][kGates];

  const int thread = static_cast<int>(threadIdx.x);
  T fetched_rows[kFetchedRows], fetched_weights[kFetchedWeights];
  // Where the thread's i-th fetched weight belongs; threads next to one another read what lies side by side.
  const auto weight_place = [&](int i, int& depth, int& unit, int& gate) {
    const int e = thread + i * kBlock;
    if constexpr (kTransposed) {
      depth = e % kDepth;
      unit = e / kDepth;
      gate = 0;
    } else {
      unit = e % kUnitsOfBlock;
      gate = e / kUnitsOfBlock % kGates;
      depth = e / (kUnitsOfBlock * kGates);
    }
  };
  const auto fetch = [&](std::int64_t from) {
#pragma unroll
    for (int i = 0; i < kFetchedRows; ++i) {
      const int e = thread + i * kBlock;
      const std::int64_t row = place.first_row + e / kDepth, at = from + e % kDepth;
      fetched_rows[i] = row < batch && at < rows.depth ? rows.memory[row * rows.stride + at] : T(0);
    }
#pragma unroll
    for (int i = 0; i < kFetchedWeights; ++i) {
      int depth, unit, gate;
      weight_place(i, depth, unit, gate);
      const std::int64_t at = from + depth, own = place.first_unit + unit;
      fetched_weights[i] = at < rows.depth && own < units
                               ? weights[kTransposed ? own * rows.depth + at : (at * kGates + gate) * units + own]
                               : T(0);
    }
  };

  const int own_unit = thread % kUnitsOfBlock, own_row = thread / kUnitsOfBlock;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int g = 0; g < kGates; ++g) sums[r][g] = T(0);
  }
  fetch(0);
  for (std::int64_t from = 0; from < rows.depth; from += kDepth) {
#pragma unroll
    for (int i = 0; i < kFetchedRows; ++i) {
      const int e = thread + i * kBlock;
      shared_rows[e / kDepth][e % kDepth] = fetched_rows[i];
    }
#pragma unroll
    for (int i = 0; i < kFetchedWeights; ++i) {
      int depth, unit, gate;
      weight_place(i, depth, unit, gate);
      shared_weights[depth][unit][gate] = fetched_weights[i];
    }
    __syncthreads();
    if (from + kDepth < rows.depth) fetch(from + kDepth);
#pragma unroll
    for (int k = 0; k < kDepth; k += kVector) {
      Vector states[kRows];
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        states[r] = *reinterpret_cast<const Vector*>(&shared_rows[own_row + r * kThreadRows][k]);
      }
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
#pragma unroll
        for (int g = 0; g < kGates; ++g) {
          const T weight = shared_weights[k + i][own_unit][g];
#pragma unroll
          for (int r = 0; r < kRows; ++r) {
            if constexpr (sizeof(T) == 4) {
              sums[r][g] = ::fmaf(states[r].values[i], weight, sums[r][g]);
            } else {
              sums[r][g] = ::fma(states[r].values[i], weight, sums[r][g]);
            }
          }
        }
      }
    }
    __syncthreads();
  }
}

// A step forward: cell(row, unit, sums of the gates).
template <int kRows, class T, class Cell>
__global__ void __launch_bounds__(kBlock)
    recurrent_step(const Recurrence r, const RecurrentRows<T> states, const T* weights, const Cell cell) {
  const RecurrentPlace place(r.units, kRows);
  T sums[kRows][Cell::kGates];
  multiply_rows<false>(states, weights, r.batch, r.units, place, sums);
  const std::int64_t unit = place.first_unit + threadIdx.x % kUnitsOfBlock;
  const std::int64_t row = place.first_row + threadIdx.x / kUnitsOfBlock;
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    if (unit < r.units && row + i * kThreadRows < r.batch) cell(row + i * kThreadRows, unit, sums[i]);
  }
}

// A step backward: cell(row, unit, what flows back through the weights). At the last step of the sequence, where
// nothing does yet, `flows` has no memory.
template <int kRows, class T, class Cell>
__global__ void __launch_bounds__(kBlock)
    recurrent_step_back(const Recurrence r, const RecurrentRows<T> flows, const T* weights, const Cell cell) {
  const RecurrentPlace place(r.units, kRows);
  T sums[kRows][1] = {};
  if (flows.memory) multiply_rows<true>(flows, weights, r.batch, r.units, place, sums);
  const std::int64_t unit = place.first_unit + threadIdx.x % kUnitsOfBlock;
  const std::int64_t row = place.first_row + threadIdx.x / kUnitsOfBlock;
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    if (unit < r.units && row + i * kThreadRows < r.batch) cell(row + i * kThreadRows, unit, sums[i][0]);
  }
}

// Calls launch(blocks, rows of a thread, as a type): more rows meet a weight where there are blocks enough for that.
template <class Launch>
void with_recurrent_rows(const Recurrence& r, const Launch& launch) {
  constexpr std::int64_t kManyRows = 4, kEnoughBlocks = 128;
  const std::int64_t tiles = (r.units + kUnitsOfBlock - 1) / kUnitsOfBlock;
  const auto blocks = [&](std::int64_t rows) {
    return tiles * ((r.batch + kThreadRows * rows - 1) / (kThreadRows * rows));
  };
  if (blocks(kManyRows) >= kEnoughBlocks) {
    launch(static_cast<unsigned int>(blocks(kManyRows)), std::integral_constant<int, kManyRows>());
  } else {
    launch(static_cast<unsigned int>(blocks(1)), std::integral_constant<int, 1>());
  }
}

template <class T, class Cell>
void launch_recurrent_step(const Recurrence& r, const StatesBefore<T>& states, const T* weights, const Cell& cell,
                           cudaStream_t stream) {
  with_recurrent_rows(r, [&](unsigned int blocks, auto rows) {
    recurrent_step<rows.value, T, Cell>
        <<<blocks, kBlock, 0, stream>>>(r, {states.memory, states.stride, r.units}, weights, cell);
    cohort::cuda::check(cudaGetLastError());
  });
}

// `flows` is the sequence (batch, steps, width) of what the weights are multiplied with, null at the last step.
template <class T, class Cell>
void launch_recurrent_step_back(const Recurrence& r, std::int64_t step, const T* flows, std::int64_t width,
                                const T* weights, const Cell& cell, cudaStream_t stream) {
  const T* from = step + 1 < r.steps ? flows + r.time(step + 1) * width : nullptr;
  with_recurrent_rows(r, [&](unsigned int blocks, auto rows) {
    recurrent_step_back<rows.value, T, Cell>
        <<<blocks, kBlock, 0, stream>>>(r, {from, r.steps * width, width}, weights, cell);
    cohort::cuda::check(cudaGetLastError());
  });
}

// For sequences without a step.
template <class T>
void copy_states(T* to, const T* from, const Recurrence& r, cudaStream_t stream) {
  const auto bytes = static_cast<std::size_t>(r.batch * r.units) * sizeof(T);
  if (bytes > 0) cohort::cuda::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
}

// Whether a step counts for a row: all do without a mask (batch, steps).
__device__ inline bool step_counts(const bool* mask, std::int64_t at) { return !mask || mask[at]; }

}  // namespace cohort::kernels::cuda
