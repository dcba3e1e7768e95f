#include "cohort/kernels/cpu/packed_gemm.h"

#if defined(__aarch64__)

#include <algorithm>

#include "cohort/core/scratch.h"
#include "cohort/kernels/cpu/gemm_panels.h"

namespace cohort {
namespace {

using namespace panels;

constexpr std::int64_t kDepth = 512;   // one panel of either operand: 16 and 24 KiB, together in L1
constexpr std::int64_t kHeight = 192;  // the packed part of a: 384 KiB, in L2

struct Panels {
  alignas(64) float a[kHeight * kDepth];
  alignas(64) float b[kCols * kDepth];
};
Scratch packed_panels;

}  // namespace

bool PackedGemm::available() { return true; }

void PackedGemm::run(const GemmShape& shape, std::int64_t rows, std::int64_t cols, const float* a, std::int64_t lda,
                     const float* b, std::int64_t ldb, float* c, std::int64_t ldc) {
  Panels& memory = *packed_panels.get<Panels>(1);
  // Equal parts, so that the last is not a sliver.
  const std::int64_t depth_parts = (shape.k + kDepth - 1) / kDepth;
  const std::int64_t depth_step = (shape.k + depth_parts - 1) / depth_parts;
  for (std::int64_t p = 0; p < shape.k; p += depth_step) {
    const std::int64_t depth = std::min(depth_step, shape.k - p);
    for (std::int64_t i = 0; i < rows; i += kHeight) {
      const std::int64_t height = std::min(kHeight, rows - i);
      for (std::int64_t r = 0; r < height; r += kRows) {
        const std::int64_t lines = std::min(kRows, height - r);
        if (shape.transpose_a) {
          pack_across<kRows>(a + p * lda + i + r, lda, lines, depth, memory.a + r * depth);
        } else {
          pack_along<kRows>(a + (i + r) * lda + p, lda, lines, depth, memory.a + r * depth);
        }
      }
      for (std::int64_t j = 0; j < cols; j += kCols) {
        const std::int64_t width = std::min(kCols, cols - j);
        if (shape.transpose_b) {
          pack_along<kCols>(b + j * ldb + p, ldb, width, depth, memory.b);
        } else {
          pack_across<kCols>(b + p * ldb + j, ldb, width, depth, memory.b);
        }
        for (std::int64_t r = 0; r < height; r += kRows) {
          float* target = c + (i + r) * ldc + j;
          const std::int64_t lines = std::min(kRows, height - r);
          if (lines == kRows && width == kCols) {
            multiply_panels(memory.a + r * depth, memory.b, depth, target, ldc, p > 0);
          } else {
            multiply_edge(memory.a + r * depth, memory.b, depth, target, ldc, p > 0, lines, width);
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
