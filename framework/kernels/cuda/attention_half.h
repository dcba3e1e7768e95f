#pragma once

#include <cstdint>

#include "cohort/kernels/cuda/attention_dropout.h"
#include "cohort/kernels/cuda/attention_sizes.h"
#include "cohort/kernels/cuda/attention_tiles.h"
#include "cohort/kernels/cuda/tensor_core.h"

namespace cohort::kernels::cuda {

// Whether attention of a half type with these sizes is computed by tensor cores: heads as long as shared memory holds
// tiles of, in whole 16-byte accesses.
inline bool suits_tensor_cores(const AttentionSizes& sizes) {
  constexpr std::int64_t kLongest = 128, kAccess = 8;
  return sizes.size > 0 && sizes.value_size > 0 && sizes.keys > 0 && sizes.steps > 0 && sizes.size % kAccess == 0 &&
         sizes.value_size % kAccess == 0 && sizes.size <= kLongest && sizes.value_size <= kLongest;
}

// Attention of half types by tensor cores, for sizes that suit them; all memory must be aligned to 16 bytes.
KernelFn half_attention(const KernelSpec& spec, const AttentionSizes& sizes);
KernelFn half_attention_gradient(const KernelSpec& spec, const AttentionSizes& sizes);

#if defined(__CUDACC__)

inline constexpr int kHalfWarps = 4;
inline constexpr int kHalfThreads = kHalfWarps * 32;
inline constexpr int kHalfLines = 64;  // steps or keys of a tile that a block walks over
inline constexpr float kLog2E = 1.44269504088896341f;
inline constexpr float kLn2 = 0.693147180559945309f;
// In scores as powers of two, what a step does not see: far below all others, and still a number.
inline constexpr float kHiddenPower = -1e38f;

__device__ inline int lane_of() { return static_cast<int>(threadIdx.x) % 32; }
__device__ inline int warp_of() { return static_cast<int>(threadIdx.x) / 32; }

// Lines of a head in shared memory, kHead elements each, what is missing as zeros. The 16-byte parts of a line change
// places so that a column of parts lies in different banks.
template <class T, int kHead, int kLines>
struct HalfTile {
  static constexpr int kParts = kHead / 8;
  static constexpr std::size_t kBytes = sizeof(T) * kHead * kLines;

  char* memory;

  __device__ void* part(int line, int part) const { return memory + (line * kParts + (part ^ (line & 7))) * 16; }

  // Begins to copy the lines from `first` on.
  __device__ void load(const AttentionLines<T>& lines, std::int64_t first) const {
    const int length = static_cast<int>(lines.length);
#pragma unroll
    for (int i = 0; i < kLines * kParts / kHalfThreads; ++i) {
      const int at = static_cast<int>(threadIdx.x) + i * kHalfThreads;
      const int line = at / kParts, column = at % kParts;
      const bool exists = first + line < lines.lines && column * 8 < length;
      const T* from = exists ? lines.data + (first + line) * lines.stride + column * 8 : lines.data;
      begin_copy(part(line, column), from, exists);
    }
  }

  // A left operand: 16 lines from `line` on, elements from 16 * step on.
  __device__ LeftFragment left(int line, int step) const {
    LeftFragment fragment;
    const int lane = lane_of();
    load_squares(part(line + lane % 16, step * 2 + lane / 16), fragment.squares);
    return fragment;
  }
  // Two right operands whose columns are lines, 8 and 8 from `line` on, and whose rows are elements from 16 * step on.
  __device__ void right_of_lines(int line, int step, std::uint32_t (&squares)[4]) const {
    const int lane = lane_of();
    load_squares(part(line + lane % 8 + lane / 16 * 8, step * 2 + lane / 8 % 2), squares);
  }
  // Two right operands whose rows are 16 lines from `line` on, and whose columns are elements from 16 * step on.
  __device__ void right_of_columns(int line, int step, std::uint32_t (&squares)[4]) const {
    const int lane = lane_of();
    load_transposed_squares(part(line + lane % 16, step * 2 + lane / 16), squares);
  }
};

// sums (16 x 8 * kColumns) = 16 lines of left, given by `fragment(step)`, times 8 * kColumns lines of right.
template <class T, int kHead, int kColumns, class Fragment>
__device__ void multiply_tiles(const Fragment& fragment, const HalfTile<T, kHead, kHalfLines>& right,
                               SumFragment (&sums)[kColumns]) {
#pragma unroll
  for (int j = 0; j < kColumns; ++j) sums[j] = {};
#pragma unroll
  for (int step = 0; step < kHead / 16; ++step) {
    const LeftFragment left = fragment(step);
#pragma unroll
    for (int j = 0; j < kColumns; j += 2) {
      std::uint32_t squares[4];
      right.right_of_lines(j * 8, step, squares);
      multiply_squares<T>(sums[j], left, squares[0], squares[1]);
      multiply_squares<T>(sums[j + 1], left, squares[2], squares[3]);
    }
  }
}

// sums (16 x kHead) += weights (16 x 64), rounded, times the tile's lines.
template <class T, int kHead>
__device__ void add_weighted_tile(const SumFragment (&weights)[kHalfLines / 8],
                                  const HalfTile<T, kHead, kHalfLines>& lines, SumFragment (&sums)[kHead / 8]) {
#pragma unroll
  for (int part = 0; part < kHalfLines / 16; ++part) {
    const float *low = weights[2 * part].values, *high = weights[2 * part + 1].values;
    const LeftFragment left{{pack_two<T>(low[0], low[1]), pack_two<T>(low[2], low[3]), pack_two<T>(high[0], high[1]),
                             pack_two<T>(high[2], high[3])}};
#pragma unroll
    for (int column = 0; column < kHead / 16; ++column) {
      std::uint32_t squares[4];
      lines.right_of_columns(part * 16, column, squares);
      multiply_squares<T>(sums[2 * column], left, squares[0], squares[1]);
      multiply_squares<T>(sums[2 * column + 1], left, squares[2], squares[3]);
    }
  }
}

// Writes 16 rows of results from line `first` on: those and columns that do not exist are left out.
template <class T, int kHead>
__device__ void write_rows(const SumFragment (&sums)[kHead / 8], float factor_above, float factor_below, T* head_data,
                           std::int64_t first, std::int64_t lines, std::int64_t length, std::int64_t stride) {
  const int lane = lane_of();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const std::int64_t line = first + lane / 4 + half * 8;
    const float factor = half == 0 ? factor_above : factor_below;
    if (line >= lines) continue;
#pragma unroll
    for (int j = 0; j < kHead / 8; ++j) {
      const int column = j * 8 + lane % 4 * 2;
      if (column >= length) continue;
      const std::uint32_t two = pack_two<T>(sums[j].values[half * 2] * factor, sums[j].values[half * 2 + 1] * factor);
      *reinterpret_cast<std::uint32_t*>(head_data + line * stride + column) = two;
    }
  }
}

// Calls launch(Type<T>, integral_constant<int, kHead>) for a half type and the shortest tile lines that hold a head.
template <class Launch>
KernelFn visit_half_heads(DType dtype, const AttentionSizes& sizes, const Launch& launch) {
  const bool is_short = sizes.size <= 64 && sizes.value_size <= 64;
  const auto visit = [&](auto type) -> KernelFn {
    return is_short ? launch(type, std::integral_constant<int, 64>{})
                    : launch(type, std::integral_constant<int, 128>{});
  };
  return dtype == DType::Float16 ? visit(Type<__half>{}) : visit(Type<__nv_bfloat16>{});
}

#endif

}  // namespace cohort::kernels::cuda
