#include "cohort/kernels/cpu/packed_gemm.h"

#if defined(__aarch64__)

#include <algorithm>
#include <cstring>

#include "cohort/core/scratch.h"
#include "cohort/kernels/cpu/gemm_panels.h"

namespace cohort {
namespace {

using namespace panels;

constexpr std::int64_t kDepth = 256;          // one panel of b: 12 KiB, in L1 ...
constexpr std::int64_t kPackedA = 8 << 10;    // ... beside 32 KiB of a, which meet every panel of b
constexpr std::int64_t kPackedB = 160 << 10;  // 640 KiB of b, in L2, which meet every part of a

struct Panels {
  alignas(64) float a[kPackedA];
  alignas(64) float b[kPackedB];
};
Scratch packed_panels;

// All panels of an operand whose lines lie side by side, several at once: what is read then is whole cache lines.
template <std::int64_t kWidth>
void pack_panels_across(const float* from, std::int64_t step, std::int64_t lines, std::int64_t depth, float* to) {
  constexpr std::int64_t kTogether = 4;
  std::int64_t i = 0;
  for (; i + kTogether * kWidth <= lines; i += kTogether * kWidth) {
    const float* line = from + i;
    float* first = to + i * depth;
    for (std::int64_t p = 0; p < depth; ++p, line += step, first += kWidth) {
      for (std::int64_t panel = 0; panel < kTogether; ++panel) {
        std::memcpy(first + panel * kWidth * depth, line + panel * kWidth, kWidth * sizeof(float));
      }
    }
  }
  for (; i < lines; i += kWidth) {
    pack_across<kWidth>(from + i, step, std::min(kWidth, lines - i), depth, to + i * depth);
  }
}
template <std::int64_t kWidth>
void pack_panels_along(const float* from, std::int64_t step, std::int64_t lines, std::int64_t depth, float* to) {
  for (std::int64_t i = 0; i < lines; i += kWidth) {
    pack_along<kWidth>(from + i * step, step, std::min(kWidth, lines - i), depth, to + i * depth);
  }
}

// Equal parts of at most `largest`, multiples of `step`, so that the last is not a sliver.
std::int64_t part_size(std::int64_t size, std::int64_t largest, std::int64_t step) {
  const std::int64_t parts = std::max<std::int64_t>(1, (size + largest - 1) / largest);
  return ((size + parts - 1) / parts + step - 1) / step * step;
}

}  // namespace

bool PackedGemm::available() { return true; }

void PackedGemm::run(const GemmShape& shape, std::int64_t rows, std::int64_t cols, const float* a, std::int64_t lda,
                     const float* b, std::int64_t ldb, float* c, std::int64_t ldc) {
  Panels& memory = *packed_panels.get<Panels>(1);
  const std::int64_t depth_step = part_size(shape.k, kDepth, 1);
  const std::int64_t col_step = part_size(cols, kPackedB / depth_step / kCols * kCols, kCols);
  const std::int64_t row_step = part_size(rows, kPackedA / depth_step / kRows * kRows, kRows);
  for (std::int64_t first = 0; first < cols; first += col_step) {
    const std::int64_t width = std::min(col_step, cols - first);
    for (std::int64_t p = 0; p < shape.k; p += depth_step) {
      const std::int64_t depth = std::min(depth_step, shape.k - p);
      if (shape.transpose_b) {
        pack_panels_along<kCols>(b + first * ldb + p, ldb, width, depth, memory.b);
      } else {
        pack_panels_across<kCols>(b + p * ldb + first, ldb, width, depth, memory.b);
      }
      for (std::int64_t i = 0; i < rows; i += row_step) {
        const std::int64_t height = std::min(row_step, rows - i);
        if (shape.transpose_a) {
          pack_panels_across<kRows>(a + p * lda + i, lda, height, depth, memory.a);
        } else {
          pack_panels_along<kRows>(a + i * lda + p, lda, height, depth, memory.a);
        }
        for (std::int64_t j = 0; j < width; j += kCols) {
          const std::int64_t columns = std::min(kCols, width - j);
          for (std::int64_t r = 0; r < height; r += kRows) {
            float* target = c + (i + r) * ldc + first + j;
            const std::int64_t lines = std::min(kRows, height - r);
            if (lines == kRows && columns == kCols) {
              multiply_panels(memory.a + r * depth, memory.b + j * depth, depth, target, ldc, p > 0);
            } else {
              multiply_edge(memory.a + r * depth, memory.b + j * depth, depth, target, ldc, p > 0, lines, columns);
            }
          }
        }
      }
    }
  }
}

}  // namespace cohort

#else

#include "cohort/core/error.h"

namespace cohort {

bool PackedGemm::available() { return false; }
void PackedGemm::run(const GemmShape&, std::int64_t, std::int64_t, const float*, std::int64_t, const float*,
                     std::int64_t, float*, std::int64_t) {
  throw internal_error("PackedGemm", "this build has no such kernel");
}

}  // namespace cohort

#endif
