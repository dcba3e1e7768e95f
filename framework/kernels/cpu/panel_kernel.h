#pragma once

#include <cstdint>

namespace cohort {

// The innermost loop of float products: a tile of 12 lines x 8 columns, whose sums stay in vector registers. For 64-bit
// ARM, and for x86 with AVX2. Both operands are panels: for each step of the depth the elements of all lines (columns)
// side by side.
class PanelKernel {
 public:
  static constexpr std::int64_t kLines = 12, kColumns = 8;

  // Whether this build and this processor have the kernel.
  static bool available();

  // rows[i] + offset points to the 8 sums of line i: they are set, or added to.
  static void multiply(const float* lines, const float* columns, std::int64_t depth, float* const* rows,
                       std::int64_t offset, bool add);
  // The same where only `width` columns belong to the result.
  static void multiply_edge(const float* lines, const float* columns, std::int64_t depth, float* const* rows,
                            std::int64_t offset, bool add, std::int64_t width);

  // A panel of lines that each run along the depth: to[p * kLines + i] = from[i][p].
  static void pack_lines(const float* const* from, std::int64_t depth, float* to);
  // A panel of `width` <= 8 columns that lie side by side, `pitch` apart along the depth; missing ones are zeros.
  static void pack_columns(const float* from, std::int64_t pitch, std::int64_t width, std::int64_t depth, float* to);
  // A panel of `width` <= 8 columns that each run along the depth, `pitch` apart from each other.
  static void pack_columns_turned(const float* from, std::int64_t pitch, std::int64_t width, std::int64_t depth,
                                  float* to);
};

}  // namespace cohort
