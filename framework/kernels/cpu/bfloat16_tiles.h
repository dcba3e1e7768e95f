#pragma once

#include "cohort/kernels/cpu/bfloat16_panels.h"

// Tiles of float sums of bfloat16 products, by the instructions that processors have for them.

#if defined(__AMX_BF16__)

#include "cohort/kernels/cpu/bfloat16_matrix_panels.h"

namespace cohort::products {

// The matrix registers of the calling thread, as long as this lives.
class MatrixRegisters {
 public:
  MatrixRegisters() { _tile_loadconfig(&kEightTiles); }
  ~MatrixRegisters() { _tile_release(); }
  MatrixRegisters(const MatrixRegisters&) = delete;

 private:
  struct alignas(64) Layout {
    std::uint8_t palette, start_row, reserved[14];
    std::uint16_t bytes_of_row[16];
    std::uint8_t rows[16];
  };
  // A constant: g++'s intrinsic tells the compiler of the first 8 bytes alone, and it may leave out the stores that
  // would make the others of a local variable.
  static constexpr Layout kEightTiles{1, 0, {}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};
};

// c (32 x 32, ldc apart) = or += two rows of tiles of a times two columns of tiles of b, each `blocks` tiles deep.
// Those of a go by without driving those of b, which meet the next rows of a, out of the first cache. All four are
// loaded before any is used: where another thread of the core is busy, that is a quarter faster.
inline void multiply_matrix_tiles(const std::uint16_t* a0, const std::uint16_t* a1, const std::uint16_t* b0,
                                  const std::uint16_t* b1, std::int64_t blocks, float* c, std::int64_t ldc, bool add,
                                  Ahead ahead) {
  const auto stride = static_cast<int>(ldc * 4);
  asm volatile("" ::: "memory");  // the intrinsics that load do not say that they read what was stored before
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
  const std::int64_t step = ahead.step * kMatrixDepth;
  const char* next = static_cast<const char*>(ahead.next);
  for (std::int64_t p = 0; p < blocks * kMatrixTileElements; p += kMatrixTileElements, next += step) {
    for (std::int64_t byte = 0; byte < step; byte += 64) __builtin_prefetch(next + byte, 0, 2);
    _tile_stream_loadd(4, a0 + p, 64);
    _tile_stream_loadd(5, a1 + p, 64);
    _tile_loadd(6, b0 + p, 64);
    _tile_loadd(7, b1 + p, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, c, stride);
  _tile_stored(1, c + 16, stride);
  _tile_stored(2, c + 16 * ldc, stride);
  _tile_stored(3, c + 16 * ldc + 16, stride);
}

}  // namespace cohort::products

#elif defined(__AVX512BF16__)

namespace cohort::products {

// Pairs along the depth; a tile as of floats.
struct GroupTile {
  static constexpr int kGroup = 2, kRows = kTileRows, kVectors = kTileVectors, kColumns = kVectors * 16;

  // c (kRows x kColumns, ldc apart) = or += a panel of a times one of b, each `groups` deep.
  static void multiply(const std::uint16_t* a, const std::uint16_t* b, std::int64_t groups, float* c, std::int64_t ldc,
                       bool add) {
    SumTile<float, kRows, kVectors> tile;
    using Tile = decltype(tile);
    if (add) {
      tile.load(c, ldc, Tile::All{});
    } else {
      tile.clear(Tile::All{});
    }
    for (std::int64_t q = 0; q < groups; ++q, a += kRows * kGroup, b += kColumns * kGroup) {
      add_group(tile, a, b, Tile::All{});
    }
    tile.store(c, ldc, Tile::All{});
  }

 private:
  template <int... i>
  [[gnu::always_inline]] static void add_group(SumTile<float, kRows, kVectors>& tile, const std::uint16_t* a,
                                               const std::uint16_t* b, std::integer_sequence<int, i...>) {
    using Vector = Lanes<float>::Vector;
    ((tile.sums[i] = (Vector)_mm512_dpbf16_ps((__m512)tile.sums[i], pair_of_row(a, i / kVectors),
                                              load_vector<__m512bh>(b + i % kVectors * 32))),
     ...);
  }
  [[gnu::always_inline]] static __m512bh pair_of_row(const std::uint16_t* a, int row) {
    std::int32_t pair;
    std::memcpy(&pair, a + row * kGroup, sizeof pair);
    return (__m512bh)_mm512_set1_epi32(pair);
  }
};

}  // namespace cohort::products

#elif defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)

namespace cohort::products {

// Fours along the depth: one instruction multiplies two rows of them with two columns, so that a vector holds 2 x 2
// sums.
struct GroupTile {
  static constexpr int kGroup = 4, kRows = 8, kColumns = 12;

  // c (kRows x kColumns, ldc apart) = or += a panel of a times one of b, each `groups` deep.
  static void multiply(const std::uint16_t* a, const std::uint16_t* b, std::int64_t groups, float* c, std::int64_t ldc,
                       bool add) {
    float32x4_t sums[kRows / 2 * kAcross];
    load(sums, c, ldc, add, All{});
    for (std::int64_t q = 0; q < groups; ++q, a += kRows * kGroup, b += kColumns * kGroup) add_group(sums, a, b, All{});
    store(sums, c, ldc, All{});
  }

 private:
  static constexpr int kAcross = kColumns / 2;
  using All = std::make_integer_sequence<int, kRows / 2 * kAcross>;

  template <int... i>
  [[gnu::always_inline]] static void load(float32x4_t* sums, const float* c, std::int64_t ldc, bool add,
                                          std::integer_sequence<int, i...>) {
    if (add) {
      ((sums[i] = vcombine_f32(vld1_f32(c + i / kAcross * 2 * ldc + i % kAcross * 2),
                               vld1_f32(c + (i / kAcross * 2 + 1) * ldc + i % kAcross * 2))),
       ...);
    } else {
      ((sums[i] = vdupq_n_f32(0)), ...);
    }
  }
  template <int... i>
  [[gnu::always_inline]] static void store(const float32x4_t* sums, float* c, std::int64_t ldc,
                                           std::integer_sequence<int, i...>) {
    (vst1_f32(c + i / kAcross * 2 * ldc + i % kAcross * 2, vget_low_f32(sums[i])), ...);
    (vst1_f32(c + (i / kAcross * 2 + 1) * ldc + i % kAcross * 2, vget_high_f32(sums[i])), ...);
  }
  template <int... i>
  [[gnu::always_inline]] static void add_group(float32x4_t* sums, const std::uint16_t* a, const std::uint16_t* b,
                                               std::integer_sequence<int, i...>) {
    ((sums[i] = vbfmmlaq_f32(sums[i], load_vector<bfloat16x8_t>(a + i / kAcross * 2 * kGroup),
                             load_vector<bfloat16x8_t>(b + i % kAcross * 2 * kGroup))),
     ...);
  }
};

}  // namespace cohort::products

#endif
