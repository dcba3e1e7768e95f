#pragma once

// The innermost part of matrix products, in the widest vectors that this source is compiled for: a tile of sums that
// stay in registers while panels of both operands go by.

#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cstdint>
#include <utility>

#include "cohort/kernels/cpu/vector_width.h"

namespace cohort::products {

#if defined(__AVX512F__)
inline constexpr int kTileRows = 8, kTileVectors = 3;  // 24 of 32 registers hold sums
#elif defined(__AVX2__) && defined(__FMA__)
inline constexpr int kTileRows = 6, kTileVectors = 2;  // 12 of 16
#elif defined(__aarch64__)
inline constexpr int kTileRows = 8, kTileVectors = 3;  // 24 of 32
#else
inline constexpr int kTileRows = 4, kTileVectors = 2;  // 8 of 16; each product needs one more
#endif

template <class Number>
struct Lanes {
  typedef Number Vector __attribute__((vector_size(kVectorBytes)));
  static constexpr std::int64_t kCount = kVectorBytes / static_cast<int>(sizeof(Number));
};
// Columns of a whole tile.
template <class Number>
inline constexpr std::int64_t kTileColumns = kTileVectors* Lanes<Number>::kCount;

// How the left operand of a tile lies: somewhere in its matrix; there, but the rows of a depth side by side; so in a
// panel, with the next depth behind them; in a panel that has each element as often as a vector has lanes.
enum class LeftOperand { kInMatrix, kSideBySide, kPanel, kCopies };

// Where spreading an element takes an instruction that would compute, panels have copies.
#if defined(__x86_64__) && !defined(__AVX2__)
inline constexpr LeftOperand kPackedLeft = LeftOperand::kCopies;
#else
inline constexpr LeftOperand kPackedLeft = LeftOperand::kPanel;
#endif
template <class Number>
inline constexpr std::int64_t kLeftCopies = kPackedLeft == LeftOperand::kCopies ? Lanes<Number>::kCount : 1;

// Not by memcpy: on 64-bit ARM g++ copies 16 bytes through general registers, and the sums with them.
template <class Vector, class Number>
[[gnu::always_inline]] inline Vector load_vector(const Number* from) {
  typedef Vector Unaligned __attribute__((aligned(1), may_alias));
  return *reinterpret_cast<const Unaligned*>(from);
}
template <class Vector, class Number>
[[gnu::always_inline]] inline void store_vector(Vector value, Number* to) {
  typedef Vector Unaligned __attribute__((aligned(1), may_alias));
  *reinterpret_cast<Unaligned*>(to) = value;
}

// sum + factor * column, rounded once where the processor can: -ffp-contract=off forbids the compiler to say so itself.
[[gnu::always_inline]] inline auto multiply_add(Lanes<float>::Vector sum, float factor, Lanes<float>::Vector column) {
#if defined(__AVX512F__)
  return (Lanes<float>::Vector)_mm512_fmadd_ps(_mm512_set1_ps(factor), (__m512)column, (__m512)sum);
#elif defined(__AVX2__) && defined(__FMA__)
  return (Lanes<float>::Vector)_mm256_fmadd_ps(_mm256_set1_ps(factor), (__m256)column, (__m256)sum);
#elif defined(__aarch64__)
  return (Lanes<float>::Vector)vfmaq_n_f32((float32x4_t)sum, (float32x4_t)column, factor);
#else
  return sum + factor * column;
#endif
}
[[gnu::always_inline]] inline auto multiply_add(Lanes<double>::Vector sum, double factor,
                                                Lanes<double>::Vector column) {
#if defined(__AVX512F__)
  return (Lanes<double>::Vector)_mm512_fmadd_pd(_mm512_set1_pd(factor), (__m512d)column, (__m512d)sum);
#elif defined(__AVX2__) && defined(__FMA__)
  return (Lanes<double>::Vector)_mm256_fmadd_pd(_mm256_set1_pd(factor), (__m256d)column, (__m256d)sum);
#elif defined(__aarch64__)
  return (Lanes<double>::Vector)vfmaq_n_f64((float64x2_t)sum, (float64x2_t)column, factor);
#else
  return sum + factor * column;
#endif
}

#if defined(__aarch64__)
// Factors that lie side by side are multiplied by lanes of a register.
template <int kLane>
[[gnu::always_inline]] inline auto multiply_add_lane(float32x4_t sum, float32x4_t factors, float32x4_t column) {
  return vfmaq_laneq_f32(sum, column, factors, kLane);
}
template <int kLane>
[[gnu::always_inline]] inline auto multiply_add_lane(float64x2_t sum, float64x2_t factors, float64x2_t column) {
  return vfmaq_laneq_f64(sum, column, factors, kLane);
}
#endif

// The sums of kRows x kVectors vectors. Every index is known when this is compiled, which keeps them in registers.
template <class Number, int kRows, int kVectors>
struct SumTile {
  using Vector = typename Lanes<Number>::Vector;
  static constexpr std::int64_t kCount = Lanes<Number>::kCount;
  using Rows = std::make_integer_sequence<int, kRows>;
  using Vectors = std::make_integer_sequence<int, kVectors>;
  using All = std::make_integer_sequence<int, kRows * kVectors>;

  Vector sums[kRows * kVectors];

  template <int... i>
  [[gnu::always_inline]] void clear(std::integer_sequence<int, i...>) {
    ((sums[i] = Vector{}), ...);
  }
  // Row after row: of addresses that are each counted from the first the compiler keeps more than there are registers.
  template <int... i>
  [[gnu::always_inline]] void load(const Number* c, std::int64_t ldc, std::integer_sequence<int, i...>) {
    ((sums[i] = load_vector<Vector>(c + i % kVectors * kCount), c += i % kVectors == kVectors - 1 ? ldc : 0), ...);
  }
  // Memory that is about to be stored to is fetched meanwhile.
  template <int... i>
  [[gnu::always_inline]] static void fetch(const Number* c, std::int64_t ldc, std::integer_sequence<int, i...>) {
    ((__builtin_prefetch(c + i % kVectors * kCount, 1), c += i % kVectors == kVectors - 1 ? ldc : 0), ...);
  }
  template <int... i>
  [[gnu::always_inline]] void add(const Number* c, std::int64_t ldc, std::integer_sequence<int, i...>) {
    ((sums[i] += load_vector<Vector>(c + i % kVectors * kCount), c += i % kVectors == kVectors - 1 ? ldc : 0), ...);
  }
  template <int... i>
  [[gnu::always_inline]] void store(Number* c, std::int64_t ldc, std::integer_sequence<int, i...>) const {
    ((store_vector(sums[i], c + i % kVectors * kCount), c += i % kVectors == kVectors - 1 ? ldc : 0), ...);
  }

  // The same with a place for each row.
  template <int... i>
  [[gnu::always_inline]] void load(Number* const* rows, std::int64_t offset, std::integer_sequence<int, i...>) {
    ((sums[i] = load_vector<Vector>(rows[i / kVectors] + offset + i % kVectors * kCount)), ...);
  }
  template <int... i>
  [[gnu::always_inline]] void store(Number* const* rows, std::int64_t offset, std::integer_sequence<int, i...>) const {
    (store_vector(sums[i], rows[i / kVectors] + offset + i % kVectors * kCount), ...);
  }

  template <int kRow, int... j>
  [[gnu::always_inline]] void add_row(Number factor, const Vector* columns, std::integer_sequence<int, j...>) {
    ((sums[kRow * kVectors + j] = multiply_add(sums[kRow * kVectors + j], factor, columns[j])), ...);
  }
  template <int... i>
  [[gnu::always_inline]] void add_rows(const Number* a, std::int64_t row_step, const Vector* columns,
                                       std::integer_sequence<int, i...>) {
    (add_row<i>(a[i * row_step], columns, Vectors{}), ...);
  }
  template <int kRow, int... j>
  [[gnu::always_inline]] void add_copied_row(Vector factors, const Vector* columns, std::integer_sequence<int, j...>) {
    ((sums[kRow * kVectors + j] = sums[kRow * kVectors + j] + factors * columns[j]), ...);
  }
  template <int... i>
  [[gnu::always_inline]] void add_copied_rows(const Number* a, const Vector* columns,
                                              std::integer_sequence<int, i...>) {
    (add_copied_row<i>(load_vector<Vector>(a + i * kCount), columns, Vectors{}), ...);
  }
#if defined(__aarch64__)
  template <int kRow, int... j>
  [[gnu::always_inline]] void add_lane(Vector factors, const Vector* columns, std::integer_sequence<int, j...>) {
    ((sums[kRow * kVectors + j] = multiply_add_lane<kRow % kCount>(sums[kRow * kVectors + j], factors, columns[j])),
     ...);
  }
  template <int... i>
  [[gnu::always_inline]] void add_lanes(const Number* a, const Vector* columns, std::integer_sequence<int, i...>) {
    (add_lane<i>(load_vector<Vector>(a + i / kCount * kCount), columns, Vectors{}), ...);
  }
#endif
  template <int... j>
  [[gnu::always_inline]] void load_columns(const Number* b, Vector* columns, std::integer_sequence<int, j...>) {
    ((columns[j] = load_vector<Vector>(b + j * kCount)), ...);
  }
  template <int... j>
  [[gnu::always_inline]] void keep_columns(const Vector* columns, Number* to, std::integer_sequence<int, j...>) {
    (store_vector(columns[j], to + j * kCount), ...);
  }
};

// Depths that lie far apart are not fetched by the processor itself: from the second cache to the first, so many before
// they are needed.
inline constexpr std::int64_t kDepthsAhead = 8;

// What is needed next, of which `step` bytes are fetched at each depth. Only where vectors are so wide that products
// would wait for it; others leave the caches time enough.
struct Ahead {
  static constexpr bool kPays = kVectorBytes == 64;
  const void* next = nullptr;
  std::int64_t step = 0;
  const void* sums = nullptr;  // of the tile behind this one, as far apart as this one's

  // A panel of so many columns, of which each of `tiles` tiles before it fetches its part. Where these are few they
  // would fetch more than they have time for.
  template <class Number>
  static Ahead of_panel(const Number* panel, std::int64_t columns, std::int64_t tiles) {
    constexpr std::int64_t kCacheLine = 64;
    const std::int64_t step = (columns * static_cast<std::int64_t>(sizeof(Number)) + tiles - 1) / tiles;
    return {panel, step <= kCacheLine ? step : 0};
  }
  // A tile of this depth has fetched its part.
  void pass(std::int64_t depth) { next = static_cast<const char*>(next) + depth * step; }
};

// Adds the products of `depth` columns of a and rows of b. Elements of a lie row_step and depth_step apart; in a panel
// its layout says how far rows are. Rows of b lie b_step apart; where they are kept, they make a panel there.
template <LeftOperand kLeft, bool kKeeps = false, class Number, int kRows, int kVectors>
[[gnu::always_inline]] inline void add_products(SumTile<Number, kRows, kVectors>& tile, const Number* a,
                                                std::int64_t row_step, std::int64_t depth_step, const Number* b,
                                                std::int64_t b_step, std::int64_t depth, Ahead ahead = {},
                                                Number* kept = nullptr) {
  using Tile = SumTile<Number, kRows, kVectors>;
  const char* next = static_cast<const char*>(ahead.next ? ahead.next : b);
#pragma GCC unroll 4
  for (std::int64_t p = 0; p < depth; ++p, a += depth_step, b += b_step, next += ahead.step) {
    if constexpr (Ahead::kPays) __builtin_prefetch(next, 0, 2);
    if constexpr (kLeft == LeftOperand::kSideBySide) __builtin_prefetch(a + kDepthsAhead * depth_step);
    typename Tile::Vector columns[kVectors];
    tile.load_columns(b, columns, typename Tile::Vectors{});
    if constexpr (kKeeps) tile.keep_columns(columns, kept + p * kVectors * Tile::kCount, typename Tile::Vectors{});
#if defined(__aarch64__)
    if constexpr (kLeft == LeftOperand::kPanel && kRows % Tile::kCount == 0) {
      tile.add_lanes(a, columns, typename Tile::Rows{});
      continue;
    }
#endif
    if constexpr (kLeft == LeftOperand::kCopies) {
      tile.add_copied_rows(a, columns, typename Tile::Rows{});
    } else {
      tile.add_rows(a, kLeft == LeftOperand::kInMatrix ? row_step : 1, columns, typename Tile::Rows{});
    }
  }
}

// c (kRows rows ldc apart, kVectors vectors wide) = or += a * b, one product after the other along the depth; what c
// holds is the first summand, or the last.
template <class Number, int kRows, int kVectors, LeftOperand kLeft, bool kAddsLast = false, bool kKeeps = false>
[[gnu::always_inline]] inline void multiply_tile(const Number* a, std::int64_t row_step, std::int64_t depth_step,
                                                 const Number* b, std::int64_t b_step, std::int64_t depth, Number* c,
                                                 std::int64_t ldc, bool add, Ahead ahead = {}, Number* kept = nullptr) {
  using Tile = SumTile<Number, kRows, kVectors>;
  Tile tile;
  if (add && !kAddsLast) {
    tile.load(c, ldc, typename Tile::All{});
  } else {
    if constexpr (Ahead::kPays) Tile::fetch(c, ldc, typename Tile::All{});
    tile.clear(typename Tile::All{});
  }
  if constexpr (Ahead::kPays) {
    if (ahead.sums) Tile::fetch(static_cast<const Number*>(ahead.sums), ldc, typename Tile::All{});
  }
  add_products<kLeft, kKeeps>(tile, a, row_step, depth_step, b, b_step, depth, ahead, kept);
  if (add && kAddsLast) tile.add(c, ldc, typename Tile::All{});
  tile.store(c, ldc, typename Tile::All{});
}

}  // namespace cohort::products
