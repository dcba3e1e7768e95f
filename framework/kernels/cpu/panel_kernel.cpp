#include "cohort/kernels/cpu/panel_kernel.h"

#include <algorithm>
#include <cstring>

namespace cohort {
namespace {

typedef float Vector __attribute__((vector_size(16)));

Vector load(const float* from) {
  Vector value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
void store(Vector value, float* to) { std::memcpy(to, &value, sizeof value); }

// 4 lines of 4 elements, turned: to[p * kWidth + i] = lines[i][p].
template <std::int64_t kWidth>
void turn(const float* line0, const float* line1, const float* line2, const float* line3, float* to) {
  const Vector r0 = load(line0), r1 = load(line1), r2 = load(line2), r3 = load(line3);
  const Vector a = __builtin_shufflevector(r0, r1, 0, 4, 2, 6), b = __builtin_shufflevector(r0, r1, 1, 5, 3, 7);
  const Vector c = __builtin_shufflevector(r2, r3, 0, 4, 2, 6), d = __builtin_shufflevector(r2, r3, 1, 5, 3, 7);
  store(__builtin_shufflevector(a, c, 0, 1, 4, 5), to);
  store(__builtin_shufflevector(b, d, 0, 1, 4, 5), to + kWidth);
  store(__builtin_shufflevector(a, c, 2, 3, 6, 7), to + 2 * kWidth);
  store(__builtin_shufflevector(b, d, 2, 3, 6, 7), to + 3 * kWidth);
}

// Lines that begin one element after the other, as neighbours of an image with one channel do.
bool side_by_side(const float* const* lines) {
  for (std::int64_t i = 1; i < PanelKernel::kLines; ++i) {
    if (lines[i] != lines[i - 1] + 1) return false;
  }
  return true;
}

}  // namespace

void PanelKernel::multiply_edge(const float* lines, const float* columns, std::int64_t depth, float* const* rows,
                                std::int64_t offset, bool add, std::int64_t width) {
  float whole[kLines * kColumns] = {};
  float* whole_rows[kLines];
  for (std::int64_t i = 0; i < kLines; ++i) {
    whole_rows[i] = whole + i * kColumns;
    if (add) std::copy_n(rows[i] + offset, width, whole_rows[i]);
  }
  multiply(lines, columns, depth, whole_rows, 0, add);
  for (std::int64_t i = 0; i < kLines; ++i) std::copy_n(whole_rows[i], width, rows[i] + offset);
}

void PanelKernel::pack_lines(const float* const* from, std::int64_t depth, float* to) {
  std::int64_t p = 0;
  if (side_by_side(from)) {
    for (; p < depth; ++p) std::memcpy(to + p * kLines, from[0] + p, kLines * sizeof(float));
    return;
  }
  for (; p + 4 <= depth; p += 4) {
    for (std::int64_t i = 0; i < kLines; i += 4) {
      turn<kLines>(from[i] + p, from[i + 1] + p, from[i + 2] + p, from[i + 3] + p, to + p * kLines + i);
    }
  }
  for (; p < depth; ++p) {
    for (std::int64_t i = 0; i < kLines; ++i) to[p * kLines + i] = from[i][p];
  }
}

void PanelKernel::pack_columns(const float* from, std::int64_t pitch, std::int64_t width, std::int64_t depth,
                               float* to) {
  if (width == kColumns) {
    for (std::int64_t p = 0; p < depth; ++p, from += pitch, to += kColumns) {
      std::memcpy(to, from, kColumns * sizeof(float));
    }
    return;
  }
  for (std::int64_t p = 0; p < depth; ++p, from += pitch, to += kColumns) {
    for (std::int64_t j = 0; j < kColumns; ++j) to[j] = j < width ? from[j] : 0.0f;
  }
}

void PanelKernel::pack_columns_turned(const float* from, std::int64_t pitch, std::int64_t width, std::int64_t depth,
                                      float* to) {
  std::int64_t p = 0;
  for (; width == kColumns && p + 4 <= depth; p += 4) {
    for (std::int64_t j = 0; j < kColumns; j += 4) {
      const float* at = from + j * pitch + p;
      turn<kColumns>(at, at + pitch, at + 2 * pitch, at + 3 * pitch, to + p * kColumns + j);
    }
  }
  for (; p < depth; ++p) {
    for (std::int64_t j = 0; j < kColumns; ++j) to[p * kColumns + j] = j < width ? from[j * pitch + p] : 0.0f;
  }
}

}  // namespace cohort
