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
constexpr std::int64_t kTogether = 4;         // panels of b packed at once: what is read then is whole cache lines

struct Panels {
  alignas(64) float a[kPackedA];
  alignas(64) float b[kPackedB];
};
Scratch packed_panels;

// All panels of b, whose lines lie side by side.
void pack_panels_across(const float* from, std::int64_t step, std::int64_t cols, std::int64_t depth, float* to) {
  std::int64_t j = 0;
  for (; j + kTogether * kCols <= cols; j += kTogether * kCols) {
    const float* line = from + j;
    float* first = to + j * depth;
    for (std::int64_t p = 0; p < depth; ++p, line += step, first += kCols) {
      for (std::int64_t panel = 0; panel < kTogether; ++panel) {
        std::memcpy(first + panel * kCols * depth, line + panel * kCols, kCols * sizeof(float));
      }
    }
  }
  for (; j < cols; j += kCols) pack_across<kCols>(from + j, step, std::min(kCols, cols - j), depth, to + j * depth);
}

// Brings a matrix of `rows` lines of `bytes` into the cache, a bit with every call: the part of a that is packed next
// arrives while the one before it is multiplied.
class Prefetch {
 public:
  Prefetch(const float* first, std::int64_t step, std::int64_t rows, std::int64_t columns, std::int64_t calls)
      : at_(reinterpret_cast<const char*>(first)),
        step_(step * static_cast<std::int64_t>(sizeof(float)) -
              (columns * static_cast<std::int64_t>(sizeof(float)) + 63) / 64 * 64),
        lines_((columns * static_cast<std::int64_t>(sizeof(float)) + 63) / 64),
        left_(lines_),
        total_(lines_ * std::max<std::int64_t>(rows, 0)),
        at_once_((total_ + calls - 1) / calls) {}
  void next() {
    for (std::int64_t n = std::min(at_once_, total_); n > 0; --n, --total_) {
      __builtin_prefetch(at_);
      at_ += 64;
      if (--left_ > 0) continue;
      left_ = lines_;
      at_ += step_;
    }
  }

 private:
  const char* at_;
  std::int64_t step_, lines_, left_, total_, at_once_;
};

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
      if (!shape.transpose_b) pack_panels_across(b + p * ldb + first, ldb, width, depth, memory.b);
      for (std::int64_t j = 0; shape.transpose_b && j < width; j += kCols) {
        pack_along<kCols>(b + (first + j) * ldb + p, ldb, std::min(kCols, width - j), depth, memory.b + j * depth);
      }
      for (std::int64_t i = 0; i < rows; i += row_step) {
        const std::int64_t height = std::min(row_step, rows - i);
        for (std::int64_t r = 0; r < height; r += kRows) {
          const std::int64_t lines = std::min(kRows, height - r);
          if (shape.transpose_a) {
            pack_across<kRows>(a + p * lda + i + r, lda, lines, depth, memory.a + r * depth);
          } else {
            pack_along<kRows>(a + (i + r) * lda + p, lda, lines, depth, memory.a + r * depth);
          }
        }
        const std::int64_t next = i + row_step, next_height = std::min(row_step, rows - next);
        const std::int64_t calls = (width + kCols - 1) / kCols;
        Prefetch prefetch = shape.transpose_a
                                ? Prefetch(a + p * lda + next, lda, next_height > 0 ? depth : 0, next_height, calls)
                                : Prefetch(a + next * lda + p, lda, next_height, depth, calls);
        for (std::int64_t j = 0; j < width; j += kCols) {
          prefetch.next();
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
