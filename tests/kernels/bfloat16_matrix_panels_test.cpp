#include "cohort/kernels/cpu/bfloat16_matrix_panels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace cohort::products {
namespace {

// The element at depth `p` of line `line`; all differ, and bfloat16 holds them.
float element(std::int64_t line, std::int64_t p) {
  return static_cast<float>(line % 8 + 1) * (p % 2 ? -1.0f : 1.0f) *
         std::ldexp(1.0f, static_cast<int>(p / 2 % 16 + line / 8));
}

template <class Number>
Number stored(float x) {
  if constexpr (std::is_same_v<Number, float>) {
    return x;
  } else {
    return BFloat16(x).bits;
  }
}

template <class Number>
std::vector<Number> matrix(std::int64_t lines, std::int64_t depth, std::int64_t step, bool along) {
  std::vector<Number> numbers(static_cast<std::size_t>((along ? lines : depth) * step), stored<Number>(-7.0f));
  for (std::int64_t line = 0; line < lines; ++line) {
    for (std::int64_t p = 0; p < depth; ++p) {
      numbers[static_cast<std::size_t>(along ? line * step + p : p * step + line)] = stored<Number>(element(line, p));
    }
  }
  return numbers;
}

struct Case {
  std::int64_t lines, depth;
  bool along, left;
};

template <class Number>
void expect_packed(const Case& it) {
  SCOPED_TRACE(testing::Message() << "lines " << it.lines << ", depth " << it.depth << ", along " << it.along
                                  << ", left " << it.left);
  const std::int64_t step = (it.along ? it.depth : it.lines) + 3;
  const std::vector<Number> numbers = matrix<Number>(it.lines, it.depth, step, it.along);
  const Operand<Number> from{numbers.data(), step, it.along};
  const std::int64_t size = matrix_depth(it.depth) * kMatrixTile;
  const std::int64_t tiles = (it.lines + kMatrixPanel - 1) / kMatrixPanel * 2;
  const auto end = static_cast<std::size_t>(tiles * size);
  std::vector<std::uint16_t> panels(end + 1, 0xbeef);
  it.left ? pack_matrix_left(from, it.lines, it.depth, panels.data())
          : pack_matrix_right(from, it.lines, it.depth, panels.data());
  EXPECT_EQ(panels[end], 0xbeef);
  for (std::int64_t line = 0; line < it.lines; ++line) {
    for (std::int64_t p = 0; p < matrix_depth(it.depth); ++p) {
      const std::int64_t tile = line / kMatrixTile * size + p / kMatrixDepth * kMatrixTileElements;
      const std::int64_t i = line % kMatrixTile, d = p % kMatrixDepth;
      const std::int64_t place = tile + (it.left ? i * kMatrixDepth + d : d / 2 * kMatrixDepth + i * 2 + d % 2);
      const std::uint16_t expected = p < it.depth ? BFloat16(element(line, p)).bits : std::uint16_t(0);
      ASSERT_EQ(panels[static_cast<std::size_t>(place)], expected) << "line " << line << ", depth " << p;
    }
  }
}

TEST(BFloat16MatrixPanels, HoldEveryElementWhereTheTilesWantIt) {
  for (std::int64_t lines : {1, 15, 16, 17, 31, 32, 33, 64, 300}) {
    for (std::int64_t depth : {1, 2, 31, 32, 33, 64, 95}) {
      for (bool along : {false, true}) {
        for (bool left : {false, true}) {
          expect_packed<float>({lines, depth, along, left});
          expect_packed<std::uint16_t>({lines, depth, along, left});
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

}  // namespace
}  // namespace cohort::products
