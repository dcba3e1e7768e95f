#pragma once

#include <bit>

#include "cohort/core/dtype.h"
#include "cohort/kernels/cpu/bfloat16_tiles.h"
#include "cohort/kernels/cpu/product_panels.h"

namespace cohort::products {

// A tile of any size up to a whole one: the least number of vectors and a whole number of rows are computed, what
// belongs to c is stored. An element is the same chain of multiplications and additions in every one of them.
template <class Number, LeftOperand kLeft, bool kAddsLast = false>
class AnyTile {
 public:
  [[gnu::always_inline]] static void multiply(const Number* a, std::int64_t row_step, std::int64_t depth_step,
                                              const Number* b, std::int64_t b_step, std::int64_t depth, Number* c,
                                              std::int64_t ldc, bool add, std::int64_t rows, std::int64_t columns,
                                              Ahead ahead = {}) {
    if (rows == kTileRows && columns == kTileColumns<Number>) {
      return multiply_tile<Number, kTileRows, kTileVectors, kLeft, kAddsLast>(a, row_step, depth_step, b, b_step, depth,
                                                                              c, ldc, add, ahead);
    }
    multiply_part(a, row_step, depth_step, b, b_step, depth, c, ldc, add, rows, columns);
  }

 private:
  static constexpr std::int64_t kLanes = Lanes<Number>::kCount;

  [[gnu::noinline]] static void multiply_part(const Number* a, std::int64_t row_step, std::int64_t depth_step,
                                              const Number* b, std::int64_t b_step, std::int64_t depth, Number* c,
                                              std::int64_t ldc, bool add, std::int64_t rows, std::int64_t columns) {
    const std::int64_t vectors = (columns + kLanes - 1) / kLanes;
    const std::int64_t whole_rows = rows <= 2 ? rows : rows <= 4 && kTileRows > 4 ? 4 : kTileRows;
    if (whole_rows == rows && columns == vectors * kLanes) {
      return pick(a, row_step, depth_step, b, b_step, depth, c, ldc, add, whole_rows, vectors);
    }
    Number whole[kTileRows * kTileColumns<Number>];
    const std::int64_t width = vectors * kLanes;
    for (std::int64_t i = 0; add && i < whole_rows; ++i) {
      for (std::int64_t j = 0; j < width; ++j)
        whole[i * width + j] = i < rows && j < columns ? c[i * ldc + j] : Number(0);
    }
    if (kLeft != LeftOperand::kInMatrix || whole_rows == rows) {
      pick(a, row_step, depth_step, b, b_step, depth, whole, width, add, whole_rows, vectors);
    } else {  // rows beyond the last are not there to be read
      std::int64_t i = 0;
      for (; i + 4 <= rows && kTileRows > 4; i += 4) {
        pick(a + i * row_step, row_step, depth_step, b, b_step, depth, whole + i * width, width, add, 4, vectors);
      }
      for (; i < rows; i += 2) {
        pick(a + i * row_step, row_step, depth_step, b, b_step, depth, whole + i * width, width, add,
             std::min<std::int64_t>(2, rows - i), vectors);
      }
    }
    for (std::int64_t i = 0; i < rows; ++i) std::copy_n(whole + i * width, columns, c + i * ldc);
  }

  static void pick(const Number* a, std::int64_t row_step, std::int64_t depth_step, const Number* b,
                   std::int64_t b_step, std::int64_t depth, Number* c, std::int64_t ldc, bool add, std::int64_t rows,
                   std::int64_t vectors) {
    const auto with_rows = [&]<int kRows>(std::integral_constant<int, kRows>) {
      const auto with_vectors = [&]<int kVectors>(std::integral_constant<int, kVectors>) {
        multiply_tile<Number, kRows, kVectors, kLeft, kAddsLast>(a, row_step, depth_step, b, b_step, depth, c, ldc,
                                                                 add);
      };
      if (vectors == 1) return with_vectors(std::integral_constant<int, 1>{});
      if (vectors == 2) return with_vectors(std::integral_constant<int, 2>{});
      with_vectors(std::integral_constant<int, kTileVectors>{});
    };
    if (rows == 1) return with_rows(std::integral_constant<int, 1>{});
    if (rows == 2) return with_rows(std::integral_constant<int, 2>{});
    if constexpr (kTileRows > 4) {
      if (rows == 4) return with_rows(std::integral_constant<int, 4>{});
    }
    with_rows(std::integral_constant<int, kTileRows>{});
  }
};

// Packed(T(x)), for bfloat16 without a branch: the compiler makes vector code of short loops then, too.
template <class Packed, class T, class From>
inline Packed rounded_to(From x) {
  if constexpr (std::is_same_v<From, float> && std::is_same_v<T, BFloat16>) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t even = bits + 0x7fffu + ((bits >> 16) & 1u), quiet = bits | 0x400000u;
    const std::uint32_t nan = 0u - static_cast<std::uint32_t>((bits & 0x7fffffffu) > 0x7f800000u);
    return std::bit_cast<float>(((quiet & nan) | (even & ~nan)) & 0xffff0000u);
  } else {
    return Packed(T(x));
  }
}

// Where a panel of b stays in L2: how deep it is, and how many rows of a meet it. Deeper ones were faster on a
// processor without bfloat16; with it they have not been tried.
#if defined(__AVX512BF16__)
inline constexpr std::int64_t kDepthInL2 = 384, kBlockRowsInL2 = 192;
#else
inline constexpr std::int64_t kDepthInL2 = 512, kBlockRowsInL2 = 96;
#endif

// How a product of T is computed: what its operands are packed into, and the tile. This one multiplies numbers as they
// are; half types are widened while they are packed, float32 that stands for them is rounded first.
template <class T>
struct NumberScheme {
  using Packed = std::conditional_t<std::is_same_v<T, double>, double, float>;
  using Sum = Packed;
  static constexpr std::int64_t kRows = kTileRows, kColumns = kTileColumns<Packed>;
  // Columns of a tile that is not whole: it is computed by as many.
  static constexpr std::int64_t kColumnStep = Lanes<Packed>::kCount;
  // Of a part: a panel of b stays in L1. Where vectors are so wide that it would be shallow, and sums would come and go
  // too often, it stays in L2, which brings it in time.
  static constexpr std::int64_t kDepth = kVectorBytes == 64 ? kDepthInL2 : (24 << 10) / (kTileVectors * kVectorBytes);
  static constexpr std::int64_t kDepthStep = 1;
  // Rows of a that meet a panel of b while it is near; all of b comes by once for each such block.
  static constexpr std::int64_t kBlockRows = kVectorBytes == 64 ? kBlockRowsInL2 : kLeftCopies<Packed> > 1 ? 48 : 96;
  // Parts that such a block meets before it goes to the next panel: sums come and go once for all of them.
  static constexpr std::int64_t kPartsTogether = 1;
  // Of an element of a in its panel.
  static constexpr std::int64_t kRowCopies = kLeftCopies<Packed>;
  struct Session {};

  static std::int64_t packed_depth(std::int64_t depth) { return depth; }
  template <class From>
  static void pack_rows(const Operand<From>& a, std::int64_t lines, std::int64_t depth, Packed* to) {
    if constexpr (kRowCopies == 1) {
      pack<static_cast<int>(kRows)>(a, lines, depth, to);
    } else {
      const std::int64_t size = kRows * depth;
      for (std::int64_t i = 0; i < lines; i += kRows, to += size * kRowCopies) {
        Packed* once = to + size * (kRowCopies - 1);  // what is copied never reaches what is still to be
        pack<static_cast<int>(kRows)>(a.at(i, 0), std::min(kRows, lines - i), depth, once);
        for (std::int64_t e = 0; e < size; ++e) std::fill_n(to + e * kRowCopies, kRowCopies, Packed(once[e]));
      }
    }
  }
  template <class From>
  static void pack_columns(const Operand<From>& b, std::int64_t lines, std::int64_t depth, Packed* to) {
    pack<static_cast<int>(kColumns)>(b, lines, depth, to);
  }
  static void multiply(const Packed* a, const Packed* b, std::int64_t depth, Sum* c, std::int64_t ldc, bool add,
                       std::int64_t rows, std::int64_t columns, Ahead ahead = {}) {
    AnyTile<Packed, kPackedLeft>::multiply(a, 1, kRows * kRowCopies, b, kColumns, depth, c, ldc, add, rows, columns,
                                           ahead);
  }

 private:
  template <int kWidth, class From>
  static void pack(const Operand<From>& from, std::int64_t lines, std::int64_t depth, Packed* to) {
    if constexpr (std::is_same_v<T, Packed>) {
      pack_panels<kWidth>(from, lines, depth, to);
    } else {
      for (std::int64_t i = 0; i < lines; i += kWidth) {
        widen<kWidth>(from.at(i, 0), std::min<std::int64_t>(kWidth, lines - i), depth, to + i * depth);
      }
    }
  }
  template <int kWidth, class From>
  static void widen(const Operand<From>& from, std::int64_t lines, std::int64_t depth, Packed* __restrict to) {
    if (!from.along) {
      for (std::int64_t p = 0; p < depth; ++p, to += kWidth) {
        const From* row = from.data + p * from.step;
        if (lines == kWidth) {  // a number of elements that the compiler knows
          for (int i = 0; i < kWidth; ++i) to[i] = rounded_to<Packed, T>(row[i]);
          continue;
        }
        for (std::int64_t i = 0; i < lines; ++i) to[i] = rounded_to<Packed, T>(row[i]);
        for (std::int64_t i = lines; i < kWidth; ++i) to[i] = Packed(0);
      }
      return;
    }
    constexpr std::int64_t kPart = 64;
    Packed wide[kWidth * kPart];
    for (std::int64_t p = 0; p < depth; p += kPart, to += kPart * kWidth) {
      const std::int64_t count = std::min(kPart, depth - p);
      for (std::int64_t i = 0; i < lines; ++i) {
        const From* line = from.data + i * from.step + p;
        for (std::int64_t q = 0; q < count; ++q) wide[i * kPart + q] = rounded_to<Packed, T>(line[q]);
      }
      pack_panel<kWidth>(Operand<Packed>{wide, kPart, true}, lines, count, to);
    }
  }
};

// Sums of a product as elements of its half type.
template <class T>
inline void round_sums(const float* from, std::int64_t count, T* to) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    round_row(from, count, reinterpret_cast<std::uint16_t*>(to));
  } else {
    for (std::int64_t j = 0; j < count; ++j) to[j] = T(from[j]);
  }
}

// A tile that is only multiplied whole: `multiply(c, ldc)` of a part of one computes in memory of its own.
template <std::int64_t kRows, std::int64_t kColumns, class Multiply>
void multiply_in_part(float* c, std::int64_t ldc, bool add, std::int64_t rows, std::int64_t columns,
                      const Multiply& multiply) {
  if (rows == kRows && columns == kColumns) return multiply(c, ldc);
  float whole[kRows * kColumns];
  for (std::int64_t i = 0; add && i < kRows; ++i) {
    for (std::int64_t j = 0; j < kColumns; ++j) {
      whole[i * kColumns + j] = i < rows && j < columns ? c[i * ldc + j] : 0.0f;
    }
  }
  multiply(whole, kColumns);
  for (std::int64_t i = 0; i < rows; ++i) std::copy_n(whole + i * kColumns, columns, c + i * ldc);
}

inline Operand<std::uint16_t> bits_of(const Operand<BFloat16>& from) {
  return {reinterpret_cast<const std::uint16_t*>(from.data), from.step, from.along};
}

#if defined(__AMX_BF16__)

// bfloat16 in matrix registers: four tiles of sums.
struct BFloat16Scheme {
  using Packed = std::uint16_t;
  using Sum = float;
  static constexpr std::int64_t kRows = kMatrixPanel, kColumns = kMatrixPanel, kColumnStep = kColumns;
  // Of a part: a panel of b, 32 KiB, stays in L1.
  static constexpr std::int64_t kDepth = 512, kDepthStep = kMatrixDepth, kBlockRows = 384, kRowCopies = 1;
  static constexpr std::int64_t kPartsTogether = 2;
  using Session = MatrixRegisters;

  static std::int64_t packed_depth(std::int64_t depth) { return matrix_depth(depth); }
  static void pack_rows(const Operand<BFloat16>& a, std::int64_t lines, std::int64_t depth, Packed* to) {
    pack_matrix_left(bits_of(a), lines, depth, to);
  }
  static void pack_rows(const Operand<float>& a, std::int64_t lines, std::int64_t depth, Packed* to) {
    pack_matrix_left(a, lines, depth, to);
  }
  static void pack_columns(const Operand<BFloat16>& b, std::int64_t lines, std::int64_t depth, Packed* to) {
    pack_matrix_right(bits_of(b), lines, depth, to);
  }
  static void pack_columns(const Operand<float>& b, std::int64_t lines, std::int64_t depth, Packed* to) {
    pack_matrix_right(b, lines, depth, to);
  }
  static void multiply(const Packed* a, const Packed* b, std::int64_t depth, Sum* c, std::int64_t ldc, bool add,
                       std::int64_t rows, std::int64_t columns, Ahead ahead = {}) {
    const std::int64_t size = packed_depth(depth) * kMatrixTile, blocks = packed_depth(depth) / kMatrixDepth;
    multiply_in_part<kRows, kColumns>(c, ldc, add, rows, columns, [&](Sum* to, std::int64_t step) {
      multiply_matrix_tiles(a, a + size, b, b + size, blocks, to, step, add, ahead);
    });
  }
};

#elif defined(__AVX512BF16__) || defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)

// bfloat16 in groups along the depth, which one instruction multiplies and adds.
struct BFloat16Scheme {
  using Packed = std::uint16_t;
  using Sum = float;
  static constexpr std::int64_t kRows = GroupTile::kRows, kColumns = GroupTile::kColumns, kColumnStep = kColumns;
  static constexpr std::int64_t kDepth = (24 << 10) / (kColumns * 2) / 16 * 16, kDepthStep = GroupTile::kGroup;
  static constexpr std::int64_t kBlockRows = 96, kPartsTogether = 1, kRowCopies = 1;
  struct Session {};

  static std::int64_t packed_depth(std::int64_t depth) {
    return groups_of(depth, GroupTile::kGroup) * GroupTile::kGroup;
  }
  template <class From>
  static void pack_rows(const Operand<From>& a, std::int64_t lines, std::int64_t depth, Packed* to) {
    pack<GroupTile::kRows>(a, lines, depth, to);
  }
  template <class From>
  static void pack_columns(const Operand<From>& b, std::int64_t lines, std::int64_t depth, Packed* to) {
    pack<GroupTile::kColumns>(b, lines, depth, to);
  }
  static void multiply(const Packed* a, const Packed* b, std::int64_t depth, Sum* c, std::int64_t ldc, bool add,
                       std::int64_t rows, std::int64_t columns, Ahead /*ahead*/ = {}) {
    multiply_in_part<kRows, kColumns>(c, ldc, add, rows, columns, [&](Sum* to, std::int64_t step) {
      GroupTile::multiply(a, b, groups_of(depth, GroupTile::kGroup), to, step, add);
    });
  }

 private:
  template <int kWidth, class From>
  static void pack(const Operand<From>& from, std::int64_t lines, std::int64_t depth, Packed* to) {
    for (std::int64_t i = 0; i < lines; i += kWidth) {
      pack_panel<kWidth>(from.at(i, 0), std::min<std::int64_t>(kWidth, lines - i), depth, to + i * packed_depth(depth));
    }
  }
  template <int kWidth>
  static void pack_panel(const Operand<BFloat16>& from, std::int64_t lines, std::int64_t depth, Packed* to) {
    pack_groups<GroupTile::kGroup, kWidth>(bits_of(from), lines, depth, to);
  }
  // A part at a time: what is rounded is packed while it is in the nearest cache.
  template <int kWidth>
  static void pack_panel(const Operand<float>& from, std::int64_t lines, std::int64_t depth, Packed* to) {
    constexpr std::int64_t kPart = 64;
    std::uint16_t rounded[kWidth * kPart];
    for (std::int64_t p = 0; p < depth; p += kPart, to += kWidth * kPart) {
      const std::int64_t count = std::min(kPart, depth - p);
      pack_groups<GroupTile::kGroup, kWidth>(round_block<kWidth, kPart>(from.at(0, p), lines, count, rounded), lines,
                                             count, to);
    }
  }
};

#else
using BFloat16Scheme = NumberScheme<BFloat16>;
#endif

template <class T>
struct SchemeOf {
  using Type = NumberScheme<T>;
};
template <>
struct SchemeOf<BFloat16> {
  using Type = BFloat16Scheme;
};

}  // namespace cohort::products
