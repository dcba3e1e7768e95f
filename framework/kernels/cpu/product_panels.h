#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "cohort/kernels/cpu/product_tile.h"

namespace cohort::products {

// A matrix as a product sees it: lines (rows of a, columns of b) of `depth` elements each.
template <class T>
struct Operand {
  const T* data;
  std::int64_t step;  // between lines that run along the depth, or between the depths of lines that lie side by side
  bool along;         // each line runs along the depth

  // From line `line` and depth `depth` on.
  Operand at(std::int64_t line, std::int64_t depth) const {
    return {along ? data + line * step + depth : data + depth * step + line, step, along};
  }
  std::int64_t line_step() const { return along ? step : 1; }
  std::int64_t depth_step() const { return along ? 1 : step; }
};

// A square of numbers, a row in each vector, that is turned about its diagonal.
template <class Number>
struct Square {
  using Vector = typename Lanes<Number>::Vector;
  static constexpr int kSide = static_cast<int>(Lanes<Number>::kCount);
  using Word = std::conditional_t<sizeof(Number) == 8, std::int64_t, std::int32_t>;
  typedef Word Places __attribute__((vector_size(kVectorBytes)));
  using Sides = std::make_integer_sequence<int, kSide>;

  Vector rows[kSide];

  // The blocks of kDistance x kDistance off the diagonal of each block of twice that change places.
  template <int kDistance, int... i>
  [[gnu::always_inline]] void swap_blocks(std::integer_sequence<int, i...>) {
    constexpr Places low = {(i & kDistance ? i - kDistance + kSide : i)...};
    constexpr Places high = {(i & kDistance ? i + kSide : i + kDistance)...};
    (swap_rows<i, i + kDistance, (i & kDistance) == 0>(low, high), ...);
    if constexpr (kDistance * 2 < kSide) swap_blocks<kDistance * 2>(Sides{});
  }
  template <int kUpper, int kLower, bool kPair>
  [[gnu::always_inline]] void swap_rows(Places low, Places high) {
    if constexpr (kPair) {
      const Vector upper = rows[kUpper], lower = rows[kLower];
      rows[kUpper] = __builtin_shuffle(upper, lower, low);
      rows[kLower] = __builtin_shuffle(upper, lower, high);
    }
  }
  template <int... i>
  [[gnu::always_inline]] void load(const Number* const* lines, std::int64_t p, std::integer_sequence<int, i...>) {
    ((rows[i] = load_vector<Vector>(lines[i] + p)), ...);
  }
  template <int... i>
  [[gnu::always_inline]] void store(Number* to, std::int64_t step, std::integer_sequence<int, i...>) const {
    (store_vector(rows[i], to + i * step), ...);
  }
};

// kWidth lines that each run along the depth, side by side: to[p * kWidth + i] = lines[i][p].
template <int kWidth, class Number>
inline void interleave(const Number* const* lines, std::int64_t depth, Number* to) {
  using Turned = Square<Number>;
  constexpr int kSide = Turned::kSide, kGroups = (kWidth + kSide - 1) / kSide;
  const Number* padded[kGroups * kSide];
  for (int i = 0; i < kGroups * kSide; ++i) padded[i] = lines[std::min(i, kWidth - 1)];
  std::int64_t p = 0;
  // A group that is wider than what is left of the panel spills into the next depth, which is written after it.
  for (; p + kSide + (kWidth % kSide ? 1 : 0) <= depth; p += kSide) {
    for (int group = kGroups - 1; group >= 0; --group) {
      Turned square;
      square.load(padded + group * kSide, p, typename Turned::Sides{});
      square.template swap_blocks<1>(typename Turned::Sides{});
      square.store(to + p * kWidth + group * kSide, kWidth, typename Turned::Sides{});
    }
  }
  // By memcpy, for lines may be of numbers that are smaller and stay together.
  const std::int64_t rest = depth - p;
  for (std::int64_t q = 0; q < rest; ++q) {
    for (int i = 0; i < kWidth; ++i) std::memcpy(to + (p + q) * kWidth + i, lines[i] + p + q, sizeof(Number));
  }
}

// One panel of at most kWidth lines; what stands for missing ones is never stored in a result.
template <int kWidth, class Number>
inline void pack_panel(const Operand<Number>& from, std::int64_t lines, std::int64_t depth, Number* to) {
  if (from.along) {
    const Number* starts[kWidth];
    for (int i = 0; i < kWidth; ++i) starts[i] = from.data + std::min<std::int64_t>(i, lines - 1) * from.step;
    return interleave<kWidth>(starts, depth, to);
  }
  const Number* row = from.data;
  if (lines == kWidth) {
    for (std::int64_t p = 0; p < depth; ++p, row += from.step, to += kWidth) {
      std::memcpy(to, row, kWidth * sizeof(Number));
    }
    return;
  }
  using Vector = typename Lanes<Number>::Vector;
  for (std::int64_t p = 0; p < depth; ++p, row += from.step, to += kWidth) {
    std::int64_t i = 0;
    for (; i + Lanes<Number>::kCount <= lines; i += Lanes<Number>::kCount) {
      store_vector(load_vector<Vector>(row + i), to + i);
    }
    for (; i < lines; ++i) to[i] = row[i];
    for (; i < kWidth; ++i) to[i] = Number(0);
  }
}

// All panels of an operand, one after the other. Several at once where lines lie side by side: of each row as much is
// read in turn as the processor fetches ahead. No more than eight: places in different panels often share a cache set.
template <int kWidth, class Number>
inline void pack_panels(const Operand<Number>& from, std::int64_t lines, std::int64_t depth, Number* to) {
  constexpr int kTogether = std::clamp<int>(1024 / (kWidth * static_cast<int>(sizeof(Number))), 1, 8);
  std::int64_t i = 0;
  while (!from.along && i + kWidth <= lines) {
    const std::int64_t panels = std::min<std::int64_t>(kTogether, (lines - i) / kWidth);
    const Number* row = from.data + i;
    Number* first = to + i * depth;
    for (std::int64_t p = 0; p < depth; ++p, row += from.step, first += kWidth) {
      for (std::int64_t panel = 0; panel < panels; ++panel) {
        std::memcpy(first + panel * kWidth * depth, row + panel * kWidth, kWidth * sizeof(Number));
      }
    }
    i += panels * kWidth;
  }
  for (; i < lines; i += kWidth) {
    pack_panel<kWidth>(from.at(i, 0), std::min<std::int64_t>(kWidth, lines - i), depth, to + i * depth);
  }
}

}  // namespace cohort::products
