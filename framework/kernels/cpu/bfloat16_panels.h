#pragma once

#include "cohort/kernels/cpu/product_panels.h"

// Panels of bfloat16 for processors that multiply them: neighbours along the depth stay together, as they are
// multiplied and added by one instruction.

#if defined(__AMX_BF16__)

namespace cohort::products {

// Half of the depth, in pairs.
inline std::int64_t pairs_of(std::int64_t depth) { return (depth + 1) / 2; }

inline std::uint32_t pair_of(std::uint16_t first, std::uint16_t second) {
  return first | static_cast<std::uint32_t>(second) << 16;
}

// to[p * kWidth + i] = the pair at depth 2 * p of line i; a missing last depth is zero.
template <int kWidth>
inline void pack_pairs(const Operand<std::uint16_t>& from, std::int64_t lines, std::int64_t depth, std::uint32_t* to) {
  if (from.along) {
    const std::uint32_t* starts[kWidth];
    for (int i = 0; i < kWidth; ++i) {
      starts[i] = reinterpret_cast<const std::uint32_t*>(from.data + std::min<std::int64_t>(i, lines - 1) * from.step);
    }
    interleave<kWidth>(starts, depth / 2, to);
    if (depth % 2 == 0) return;
    to += depth / 2 * kWidth;
    for (int i = 0; i < kWidth; ++i) {
      to[i] = pair_of(from.data[std::min<std::int64_t>(i, lines - 1) * from.step + depth - 1], 0);
    }
    return;
  }
  for (std::int64_t p = 0; p < depth; p += 2, to += kWidth) {
    const std::uint16_t* first = from.data + p * from.step;
    const std::uint16_t* second = first + from.step;
    if (p + 1 < depth && lines == kWidth) {
      for (int i = 0; i < kWidth; ++i) to[i] = pair_of(first[i], second[i]);
    } else {
      for (int i = 0; i < kWidth; ++i) {
        to[i] = pair_of(i < lines ? first[i] : 0, i < lines && p + 1 < depth ? second[i] : 0);
      }
    }
  }
}

// A matrix tile: 16 lines of 16 pairs for the left operand, 16 pairs of 16 columns for the right one; 1 KiB.
inline constexpr std::int64_t kMatrixTile = 16, kMatrixDepth = 32;
inline constexpr std::int64_t kMatrixTileElements = kMatrixTile * kMatrixDepth;

// The tiles of 16 lines of the left operand, one for each 32 of the depth, with zeros beyond its end.
inline void pack_matrix_lines(const Operand<std::uint16_t>& from, std::int64_t lines, std::int64_t depth,
                              std::uint16_t* to) {
  for (std::int64_t p = 0; p < depth; p += kMatrixDepth, to += kMatrixTileElements) {
    const std::int64_t count = std::min(kMatrixDepth, depth - p);
    if (from.along) {
      if (count < kMatrixDepth) std::fill_n(to, kMatrixTileElements, std::uint16_t(0));
      for (std::int64_t i = 0; i < kMatrixTile; ++i) {
        const std::uint16_t* line = from.data + std::min(i, lines - 1) * from.step + p;
        std::memcpy(to + i * kMatrixDepth, line, static_cast<std::size_t>(count) * sizeof *to);
      }
      continue;
    }
    std::uint32_t pairs[kMatrixTile * kMatrixTile] = {};
    pack_pairs<kMatrixTile>(from.at(0, p), lines, count, pairs);
    const std::uint32_t* rows[kMatrixTile];
    for (std::int64_t i = 0; i < kMatrixTile; ++i) rows[i] = pairs + i * kMatrixTile;
    interleave<kMatrixTile>(rows, kMatrixTile, reinterpret_cast<std::uint32_t*>(to));
  }
}
// Likewise 16 columns of the right operand.
inline void pack_matrix_columns(const Operand<std::uint16_t>& from, std::int64_t lines, std::int64_t depth,
                                std::uint16_t* to) {
  pack_pairs<kMatrixTile>(from, lines, depth, reinterpret_cast<std::uint32_t*>(to));
  const std::int64_t whole = (depth + kMatrixDepth - 1) / kMatrixDepth * kMatrixTileElements;
  const std::int64_t written = pairs_of(depth) * kMatrixTile * 2;
  std::fill(to + written, to + whole, std::uint16_t(0));
}

// The matrix registers of the calling thread, as long as this lives.
class MatrixRegisters {
 public:
  MatrixRegisters() {
    alignas(64) struct {
      std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
      std::uint16_t bytes_of_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    } config;
    _tile_loadconfig(&config);
  }
  ~MatrixRegisters() { _tile_release(); }
  MatrixRegisters(const MatrixRegisters&) = delete;
};

// c (32 x 32, ldc apart) = or += two rows of tiles of a times two columns of tiles of b, each `blocks` tiles deep.
inline void multiply_matrix_tiles(const std::uint16_t* a0, const std::uint16_t* a1, const std::uint16_t* b0,
                                  const std::uint16_t* b1, std::int64_t blocks, float* c, std::int64_t ldc, bool add) {
  const auto stride = static_cast<int>(ldc * 4);
  if (add) {
    _tile_loadd(0, c, stride);
    _tile_loadd(1, c + 16, stride);
    _tile_loadd(2, c + 16 * ldc, stride);
    _tile_loadd(3, c + 16 * ldc + 16, stride);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (std::int64_t p = 0; p < blocks * kMatrixTileElements; p += kMatrixTileElements) {
    _tile_loadd(6, b0 + p, 64);
    _tile_loadd(4, a0 + p, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, b1 + p, 64);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, a1 + p, 64);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, c, stride);
  _tile_stored(1, c + 16, stride);
  _tile_stored(2, c + 16 * ldc, stride);
  _tile_stored(3, c + 16 * ldc + 16, stride);
}

}  // namespace cohort::products

#endif
