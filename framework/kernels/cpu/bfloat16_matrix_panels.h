#pragma once

#include "cohort/kernels/cpu/bfloat16_panels.h"

// Panels of bfloat16 for matrix registers: two columns of tiles, 16 lines each, one tile for each 32 of the depth, with
// zeros beyond its end. Nothing here needs such registers.

namespace cohort::products {

// A tile, 1 KiB: 16 lines of 16 pairs for the left operand, 16 pairs of 16 lines for the right one.
inline constexpr std::int64_t kMatrixTile = 16, kMatrixDepth = 32;
inline constexpr std::int64_t kMatrixTileElements = kMatrixTile * kMatrixDepth;
inline constexpr std::int64_t kMatrixPanel = 2 * kMatrixTile;

inline std::int64_t matrix_depth(std::int64_t depth) {
  return (depth + kMatrixDepth - 1) / kMatrixDepth * kMatrixDepth;
}

// The lines of a panel at one depth. Functions get it by reference: how it is passed by value depends on the level.
typedef std::uint16_t PanelWords __attribute__((vector_size(2 * kMatrixPanel)));

[[gnu::always_inline]] inline void load_words(const std::uint16_t* from, PanelWords& words) {
  std::memcpy(&words, from, sizeof words);
}
[[gnu::always_inline]] inline void load_words(const float* from, PanelWords& words) {
#if defined(__AVX512BF16__)
  words = (PanelWords)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + 16), _mm512_loadu_ps(from));
#else
  std::uint16_t rounded[kMatrixPanel];
  round_row(from, kMatrixPanel, rounded);
  std::memcpy(&words, rounded, sizeof words);
#endif
}
// The same of fewer lines, which zeros follow.
template <class Number>
inline void load_words(const Number* from, std::int64_t lines, PanelWords& words) {
  Number whole[kMatrixPanel] = {};
  std::copy_n(from, lines, whole);
  load_words(whole, words);
}

// What lies side by side at two depths as pairs: those of the first 16 lines, those of the others.
[[gnu::always_inline]] inline void store_pairs(const PanelWords& even, const PanelWords& odd, std::uint16_t* first,
                                               std::uint16_t* second) {
  const auto store = [&]<int... i>(std::integer_sequence<int, i...>) {
    constexpr int kLines = kMatrixPanel;
    constexpr PanelWords low = {(i / 2 + i % 2 * kLines)...}, high = {(i / 2 + i % 2 * kLines + kLines / 2)...};
    const PanelWords pairs = __builtin_shuffle(even, odd, low), others = __builtin_shuffle(even, odd, high);
    std::memcpy(first, &pairs, sizeof pairs);
    std::memcpy(second, &others, sizeof others);
  };
  store(std::make_integer_sequence<int, kMatrixPanel>{});
}

// Lines side by side, two depths from p on. Number: of float32 or the bits of bfloat16.
template <class Number>
inline void pack_matrix_pairs(const Operand<Number>& from, std::int64_t lines, std::int64_t p, std::int64_t depth,
                              std::uint16_t* first, std::uint16_t* second) {
  const Number* row = from.data + p * from.step;
  PanelWords even{}, odd{};
  if (lines == kMatrixPanel && p + 1 < depth) {
    load_words(row, even);
    load_words(row + from.step, odd);
  } else {
    if (p < depth) load_words(row, lines, even);
    if (p + 1 < depth) load_words(row + from.step, lines, odd);
  }
  store_pairs(even, odd, first, second);
}

// Lines that run along the depth, from p on, at most 32 of it.
template <class Number>
inline Operand<std::uint16_t> matrix_block(const Operand<Number>& from, std::int64_t lines, std::int64_t p,
                                           std::int64_t count, std::uint16_t* rounded) {
  if constexpr (std::is_same_v<Number, float>) {
    return round_block<kMatrixTile, kMatrixDepth>(from.at(0, p), lines, count, rounded);
  } else {
    return from.at(0, p);
  }
}

// At most 16 lines of the left operand that run along the depth.
template <class Number>
inline void pack_matrix_lines(const Operand<Number>& from, std::int64_t lines, std::int64_t depth, std::uint16_t* to) {
  std::uint16_t rounded[kMatrixTileElements];
  for (std::int64_t p = 0; p < depth; p += kMatrixDepth, to += kMatrixTileElements) {
    const std::int64_t count = std::min(kMatrixDepth, depth - p);
    const Operand<std::uint16_t> block = matrix_block(from, lines, p, count, rounded);
    if (count < kMatrixDepth) std::fill_n(to, kMatrixTileElements, std::uint16_t(0));
    for (std::int64_t i = 0; i < kMatrixTile; ++i) {
      const std::uint16_t* line = block.data + std::min(i, lines - 1) * block.step;
      if (count == kMatrixDepth) {  // one register, not a call
        std::memcpy(to + i * kMatrixDepth, line, kMatrixDepth * sizeof *to);
      } else {
        std::memcpy(to + i * kMatrixDepth, line, static_cast<std::size_t>(count) * sizeof *to);
      }
    }
  }
}

// At most 16 lines of the right operand that run along the depth.
template <class Number>
inline void pack_matrix_columns(const Operand<Number>& from, std::int64_t lines, std::int64_t depth,
                                std::uint16_t* to) {
  std::uint16_t rounded[kMatrixTileElements];
  for (std::int64_t p = 0; p < depth; p += kMatrixDepth, to += kMatrixTileElements) {
    const std::int64_t count = std::min(kMatrixDepth, depth - p);
    pack_groups<2, kMatrixTile>(matrix_block(from, lines, p, count, rounded), lines, count, to);
    std::fill(to + groups_of(count, 2) * 2 * kMatrixTile, to + kMatrixTileElements, std::uint16_t(0));
  }
}

// Calls pack(from, lines, to) for each column of tiles; one that has no lines is zeros.
template <class Number, class Pack>
inline void for_matrix_tiles(const Operand<Number>& from, std::int64_t lines, std::int64_t depth, std::uint16_t* to,
                             const Pack& pack) {
  const std::int64_t size = matrix_depth(depth) * kMatrixTile;
  const std::int64_t whole = (lines + kMatrixPanel - 1) / kMatrixPanel * kMatrixPanel;
  for (std::int64_t i = 0; i < whole; i += kMatrixTile, to += size) {
    if (i < lines) {
      pack(from.at(i, 0), std::min(kMatrixTile, lines - i), to);
    } else {
      std::fill_n(to, size, std::uint16_t(0));
    }
  }
}

// All panels of a left operand.
template <class Number>
inline void pack_matrix_left(const Operand<Number>& from, std::int64_t lines, std::int64_t depth, std::uint16_t* to) {
  if (from.along) {
    return for_matrix_tiles(from, lines, depth, to, [&](const Operand<Number>& tile, std::int64_t count, auto* there) {
      pack_matrix_lines(tile, count, depth, there);
    });
  }
  const std::int64_t size = matrix_depth(depth) * kMatrixTile;
  for (std::int64_t i = 0; i < lines; i += kMatrixPanel, to += 2 * size) {
    const std::int64_t count = std::min(kMatrixPanel, lines - i);
    for (std::int64_t p = 0; p < depth; p += kMatrixDepth) {
      std::uint32_t pairs[2][kMatrixTile * kMatrixTile];
      for (std::int64_t q = 0; q < kMatrixTile; ++q) {
        pack_matrix_pairs(from.at(i, 0), count, p + 2 * q, depth,
                          reinterpret_cast<std::uint16_t*>(pairs[0] + q * kMatrixTile),
                          reinterpret_cast<std::uint16_t*>(pairs[1] + q * kMatrixTile));
      }
      for (std::int64_t half = 0; half < 2; ++half) {
        const std::uint32_t* rows[kMatrixTile];
        for (std::int64_t q = 0; q < kMatrixTile; ++q) rows[q] = pairs[half] + q * kMatrixTile;
        interleave<kMatrixTile>(rows, kMatrixTile,
                                reinterpret_cast<std::uint32_t*>(to + half * size + p * kMatrixTile));
      }
    }
  }
}

// All panels of a right operand. Several at once where lines lie side by side: of each row more is read in turn.
template <class Number>
inline void pack_matrix_right(const Operand<Number>& from, std::int64_t lines, std::int64_t depth, std::uint16_t* to) {
  if (from.along) {
    return for_matrix_tiles(from, lines, depth, to, [&](const Operand<Number>& tile, std::int64_t count, auto* there) {
      pack_matrix_columns(tile, count, depth, there);
    });
  }
  constexpr std::int64_t kTogether = 8 * kMatrixPanel;
  const std::int64_t size = matrix_depth(depth) * kMatrixTile;
  for (std::int64_t first = 0; first < lines; first += kTogether) {
    const std::int64_t last = std::min(lines, first + kTogether);
    for (std::int64_t p = 0; p < matrix_depth(depth); p += 2) {
      for (std::int64_t i = first; i < last; i += kMatrixPanel) {
        std::uint16_t* panel = to + i / kMatrixTile * size + p * kMatrixTile;
        pack_matrix_pairs(from.at(i, 0), std::min(kMatrixPanel, lines - i), p, depth, panel, panel + size);
      }
    }
  }
}

}  // namespace cohort::products
