#pragma once

#include <cstdint>

#include "cohort/kernels/cuda/launch.h"
#include "cohort/kernels/cuda/update_table.h"

namespace cohort::kernels::cuda {

template <class Real>
__device__ Real fused_multiply_add(Real a, Real b, Real c) {
  if constexpr (sizeof(Real) == 4) {
    return ::fmaf(a, b, c);
  } else {
    return ::fma(a, b, c);
  }
}

// One factor of a product: `side` lines along the product, each of `depth` elements that are summed over.
template <class Real>
struct ProductFactor {
  const Real* memory;
  int side_stride, depth_stride;
};

// to = left * right (rows x cols, over depth); with `base`, to = b * base + c * (left * right) + a on the diagonal.
template <class Real>
struct GroupedProduct {
  ProductFactor<Real> left, right;
  Real* to;
  const Real* base;
  int rows, cols, depth;
};

// Products of any shapes that one launch works out.
template <class Real>
struct ProductTable {
  static constexpr int kMost = 40;
  // A block has a square of this side: 16 x 16 threads with two vectors of 16 bytes each way.
  static constexpr int kVector = 16 / static_cast<int>(sizeof(Real)), kOwn = 2 * kVector, kSide = 16 * kOwn;

  void add(const GroupedProduct<Real>& product) {
    products[count] = product;
    const auto tiles = [](int size) { return (size + kSide - 1) / kSide; };
    first_block[count + 1] = first_block[count] + tiles(product.rows) * tiles(product.cols);
    ++count;
  }
  int blocks() const { return first_block[count]; }

  int count = 0;
  int first_block[kMost + 1] = {};
  GroupedProduct<Real> products[kMost] = {};
};

template <class Real>
__global__ void __launch_bounds__(kBlock)
    multiply_matrices(const __grid_constant__ ProductTable<Real> table, Real a, Real b, Real c) {
  using Table = ProductTable<Real>;
  constexpr int kVector = Table::kVector, kOwn = Table::kOwn, kSide = Table::kSide, kDepth = 16;
  constexpr int kFetched = kSide * kDepth / kBlock;
  struct alignas(16) Vector {
    Real values[kVector];
  };
  __shared__ alignas(16) Real shared_left[kDepth][kSide + kVector];
  __shared__ alignas(16) Real shared_right[kDepth][kSide + kVector];

  const int block = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
  const int p = find_variable(table.first_block, table.count, block);
  const GroupedProduct<Real> product = table.products[p];
  const int across = (product.cols + kSide - 1) / kSide, tile = block - table.first_block[p];
  const int first_row = tile / across * kSide, first_col = tile % across * kSide;

  // Threads next to one another read what lies side by side.
  const auto place = [&](const ProductFactor<Real>& factor, int e, int& side, int& depth) {
    if (factor.side_stride == 1) {
      side = e % kSide;
      depth = e / kSide;
    } else {
      side = e / kDepth;
      depth = e % kDepth;
    }
  };
  const auto fetch = [&](const ProductFactor<Real>& factor, int first, int size, int first_depth, Real(&to)[kFetched]) {
#pragma unroll
    for (int i = 0; i < kFetched; ++i) {
      int side, depth;
      place(factor, thread + i * kBlock, side, depth);
      side += first;
      depth += first_depth;
      to[i] = side < size && depth < product.depth
                  ? factor.memory[static_cast<std::int64_t>(side) * factor.side_stride +
                                  static_cast<std::int64_t>(depth) * factor.depth_stride]
                  : Real{0};
    }
  };
  const auto put = [&](const ProductFactor<Real>& factor, const Real(&from)[kFetched],
                       Real(&to)[kDepth][kSide + kVector]) {
#pragma unroll
    for (int i = 0; i < kFetched; ++i) {
      int side, depth;
      place(factor, thread + i * kBlock, side, depth);
      to[depth][side] = from[i];
    }
  };

  // A thread's elements: two runs of kVector rows and columns, 16 runs apart.
  const int row_run = thread / 16 * kVector, col_run = thread % 16 * kVector;
  Real sums[kOwn][kOwn] = {};
  Real left[kFetched], right[kFetched];
  fetch(product.left, first_row, product.rows, 0, left);
  fetch(product.right, first_col, product.cols, 0, right);
  for (int depth = 0; depth < product.depth; depth += kDepth) {
    put(product.left, left, shared_left);
    put(product.right, right, shared_right);
    __syncthreads();
    if (depth + kDepth < product.depth) {
      fetch(product.left, first_row, product.rows, depth + kDepth, left);
      fetch(product.right, first_col, product.cols, depth + kDepth, right);
    }
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      Vector rows[2], cols[2];
#pragma unroll
      for (int run = 0; run < 2; ++run) {
        rows[run] = *reinterpret_cast<const Vector*>(&shared_left[k][row_run + run * 16 * kVector]);
        cols[run] = *reinterpret_cast<const Vector*>(&shared_right[k][col_run + run * 16 * kVector]);
      }
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
#pragma unroll
        for (int j = 0; j < kOwn; ++j) {
          sums[i][j] = fused_multiply_add(rows[i / kVector].values[i % kVector], cols[j / kVector].values[j % kVector],
                                          sums[i][j]);
        }
      }
    }
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const int row = first_row + row_run + i / kVector * 16 * kVector + i % kVector;
    if (row >= product.rows) continue;
#pragma unroll
    for (int j = 0; j < kOwn; ++j) {
      const int col = first_col + col_run + j / kVector * 16 * kVector + j % kVector;
      if (col >= product.cols) continue;
      const std::int64_t at = static_cast<std::int64_t>(row) * product.cols + col;
      Real value = sums[i][j];
      if (product.base) {
        value = b * product.base[at] + c * value;
        if (row == col) value += a;
      }
      product.to[at] = value;
    }
  }
}

}  // namespace cohort::kernels::cuda
