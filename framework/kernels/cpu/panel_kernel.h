#pragma once

#include <cstdint>

#include "cohort/kernels/cpu/product_tile.h"

namespace cohort {

// The innermost loop of float convolutions: a tile of lines x columns, whose sums stay in vector registers. Both
// operands are panels: for each step of the depth the elements of all lines (columns) side by side.
class PanelKernel {
 public:
#if defined(__aarch64__) || defined(__AVX512F__)
  static constexpr std::int64_t kLines = 12;  // two vectors wide: fewer columns are wasted where filters are few
#else
  static constexpr std::int64_t kLines = products::kTileRows;
#endif
  static constexpr std::int64_t kColumns = 2 * products::Lanes<float>::kCount;

  // rows[i] + offset points to the sums of line i: they are set, or added to.
  static void multiply(const float* lines, const float* columns, std::int64_t depth, float* const* rows,
                       std::int64_t offset, bool add);
  // The same where only `width` columns belong to the result.
  static void multiply_edge(const float* lines, const float* columns, std::int64_t depth, float* const* rows,
                            std::int64_t offset, bool add, std::int64_t width);

  // A panel of lines that each run along the depth: to[p * kLines + i] = from[i][p].
  static void pack_lines(const float* const* from, std::int64_t depth, float* to);
  // A panel of `width` <= kColumns columns that lie side by side, `pitch` apart along the depth.
  static void pack_columns(const float* from, std::int64_t pitch, std::int64_t width, std::int64_t depth, float* to);
  // A panel of `width` <= kColumns columns that each run along the depth, `pitch` apart from each other.
  static void pack_columns_turned(const float* from, std::int64_t pitch, std::int64_t width, std::int64_t depth,
                                  float* to);
};

}  // namespace cohort
