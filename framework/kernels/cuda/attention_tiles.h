#pragma once

#include <cstdint>

#include "cohort/kernels/cuda/attention_dropout.h"
#include "cohort/kernels/cuda/attention_sizes.h"
#include "cohort/kernels/cuda/element.h"
#include "cohort/kernels/cuda/multiply_add.h"

namespace cohort::kernels::cuda {

// How a block of threads works on a tile of scores: `kRows` steps by as many keys, a square of each for a thread.
template <class C>
struct AttentionTile {
  static constexpr int kSide = 16;  // threads along a side of the tile
  static constexpr int kThreads = kSide * kSide;
  static constexpr int kOwn = sizeof(C) == 8 ? 2 : 4;
  static constexpr int kRows = kSide * kOwn;
  static constexpr int kColumns = kRows;  // of results that one block computes
  static constexpr int kDepth = 16;       // of operands that are in shared memory at once
  static constexpr int kPadded = kRows + 4;

  // Parts of two operands, one line of each for a row or a column of the tile.
  struct alignas(16) Parts {
    C left[kDepth][kPadded], right[kDepth][kPadded];
  };
  using Scores = C[kRows][kRows + 1];

  static __device__ int across() { return static_cast<int>(threadIdx.x) % kSide; }
  static __device__ int down() { return static_cast<int>(threadIdx.x) / kSide; }
};

// Lines of `length` elements, `stride` apart: the steps or keys of one head.
template <class T>
struct AttentionLines {
  const T* data;
  std::int64_t lines, length, stride;
};

// Head `head` of sample `sample` of a tensor (batch, lines, heads, length).
template <class T>
__device__ AttentionLines<T> head_of(const T* tensor, std::int64_t sample, std::int64_t head, std::int64_t lines,
                                     std::int64_t heads, std::int64_t length) {
  return {tensor + (sample * lines * heads + head) * length, lines, length, heads * length};
}

// sums[i][j] = line (first_left + own row i) of left times line (first_right + own column j) of right. Begins and ends
// with the parts free for use.
template <class T, class C>
__device__ void multiply_lines(const AttentionLines<T>& left, std::int64_t first_left, const AttentionLines<T>& right,
                               std::int64_t first_right, typename AttentionTile<C>::Parts& parts,
                               C (&sums)[AttentionTile<C>::kOwn][AttentionTile<C>::kOwn]) {
  using Tile = AttentionTile<C>;
#pragma unroll
  for (int i = 0; i < Tile::kOwn; ++i) {
#pragma unroll
    for (int j = 0; j < Tile::kOwn; ++j) sums[i][j] = 0;
  }
  for (std::int64_t first = 0; first < left.length; first += Tile::kDepth) {
#pragma unroll
    for (int i = 0; i < Tile::kRows * Tile::kDepth / Tile::kThreads; ++i) {
      const int at = static_cast<int>(threadIdx.x) + i * Tile::kThreads;
      const int line = at / Tile::kDepth, d = at % Tile::kDepth;
      const bool inside = first + d < left.length;
      const std::int64_t left_line = first_left + line, right_line = first_right + line;
      parts.left[d][line] =
          inside && left_line < left.lines ? widened(left.data[left_line * left.stride + first + d]) : C(0);
      parts.right[d][line] =
          inside && right_line < right.lines ? widened(right.data[right_line * right.stride + first + d]) : C(0);
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < Tile::kDepth; ++d) {
      C a[Tile::kOwn], b[Tile::kOwn];
#pragma unroll
      for (int i = 0; i < Tile::kOwn; ++i) a[i] = parts.left[d][Tile::down() * Tile::kOwn + i];
#pragma unroll
      for (int j = 0; j < Tile::kOwn; ++j) b[j] = parts.right[d][Tile::across() * Tile::kOwn + j];
#pragma unroll
      for (int i = 0; i < Tile::kOwn; ++i) {
#pragma unroll
        for (int j = 0; j < Tile::kOwn; ++j) sums[i][j] = multiply_add(a[i], b[j], sums[i][j]);
      }
    }
    __syncthreads();
  }
}

// sums[i][j] += sum over l of weight(own row i, l) * element (first_column + own column j) of line first_line + l. With
// kTransposed the weights are scores[l][row], else scores[row][l]. The scores must be complete; begins and ends with
// the parts free for use. Own columns lie kSide apart.
template <bool kTransposed, class T, class C>
__device__ void add_weighted_lines(const typename AttentionTile<C>::Scores& scores, const AttentionLines<T>& lines,
                                   std::int64_t first_line, std::int64_t first_column,
                                   typename AttentionTile<C>::Parts& parts,
                                   C (&sums)[AttentionTile<C>::kOwn][AttentionTile<C>::kOwn]) {
  using Tile = AttentionTile<C>;
  for (int part = 0; part < Tile::kRows; part += Tile::kDepth) {
#pragma unroll
    for (int i = 0; i < Tile::kColumns * Tile::kDepth / Tile::kThreads; ++i) {
      const int at = static_cast<int>(threadIdx.x) + i * Tile::kThreads;
      const int l = at / Tile::kColumns, column = at % Tile::kColumns;
      const std::int64_t line = first_line + part + l;
      parts.left[l][column] = line < lines.lines && first_column + column < lines.length
                                  ? widened(lines.data[line * lines.stride + first_column + column])
                                  : C(0);
    }
    __syncthreads();
#pragma unroll
    for (int l = 0; l < Tile::kDepth; ++l) {
      C weights[Tile::kOwn], elements[Tile::kOwn];
#pragma unroll
      for (int i = 0; i < Tile::kOwn; ++i) {
        const int row = Tile::down() * Tile::kOwn + i;
        weights[i] = kTransposed ? scores[part + l][row] : scores[row][part + l];
      }
#pragma unroll
      for (int j = 0; j < Tile::kOwn; ++j) elements[j] = parts.left[l][Tile::across() + j * Tile::kSide];
#pragma unroll
      for (int i = 0; i < Tile::kOwn; ++i) {
#pragma unroll
        for (int j = 0; j < Tile::kOwn; ++j) sums[i][j] = multiply_add(weights[i], elements[j], sums[i][j]);
      }
    }
    __syncthreads();
  }
}

// What all threads of a row of the tile have, combined; each gets the result.
template <class C, class Combine>
__device__ C combine_row(C value, const Combine& combine) {
#pragma unroll
  for (int distance = AttentionTile<C>::kSide / 2; distance > 0; distance /= 2) {
    value = combine(value, __shfl_xor_sync(~0u, value, distance));
  }
  return value;
}

}  // namespace cohort::kernels::cuda
