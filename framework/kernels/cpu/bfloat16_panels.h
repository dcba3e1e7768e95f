#pragma once

#include <bit>

#include "cohort/core/dtype.h"
#include "cohort/kernels/cpu/product_panels.h"

// Panels of bfloat16 for processors that multiply them: neighbours along the depth stay together, as they are
// multiplied and added by one instruction.

namespace cohort::products {

// kGroup neighbours along the depth, as one number.
template <int kGroup>
using DepthGroup = std::conditional_t<kGroup == 2, std::uint32_t, std::uint64_t>;

inline std::int64_t groups_of(std::int64_t depth, int group) { return (depth + group - 1) / group; }

// Those at depth p of lines that lie side by side, zeros where there are fewer lines or depths.
template <int kGroup, int kWidth>
inline void pack_group(const Operand<std::uint16_t>& from, std::int64_t lines, std::int64_t p, std::int64_t depth,
                       std::uint16_t* to) {
  const std::uint16_t* rows[kGroup];
  for (int g = 0; g < kGroup; ++g) rows[g] = from.data + (p + g) * from.step;
  if (p + kGroup <= depth && lines == kWidth) {
    if constexpr (kGroup == 2 &&
                  std::endian::native == std::endian::little) {  // widened and joined, in whole registers
      std::uint32_t pairs[kWidth];
      for (int i = 0; i < kWidth; ++i) {
        pairs[i] = static_cast<std::uint32_t>(rows[0][i]) | static_cast<std::uint32_t>(rows[1][i]) << 16;
      }
      std::memcpy(to, pairs, sizeof pairs);
      return;
    }
    for (int i = 0; i < kWidth; ++i) {
      for (int g = 0; g < kGroup; ++g) to[i * kGroup + g] = rows[g][i];
    }
    return;
  }
  for (int i = 0; i < kWidth; ++i) {
    for (int g = 0; g < kGroup; ++g) to[i * kGroup + g] = i < lines && p + g < depth ? rows[g][i] : 0;
  }
}

// to[q * kWidth + i] = the group at depth kGroup * q of line i; what is missing of the last depth is zero.
template <int kGroup, int kWidth>
inline void pack_groups(const Operand<std::uint16_t>& from, std::int64_t lines, std::int64_t depth, std::uint16_t* to) {
  using Group = DepthGroup<kGroup>;
  if (!from.along) {
    for (std::int64_t p = 0; p < depth; p += kGroup, to += kWidth * kGroup) {
      pack_group<kGroup, kWidth>(from, lines, p, depth, to);
    }
    return;
  }
  const std::uint16_t* starts[kWidth];
  const Group* groups[kWidth];
  for (int i = 0; i < kWidth; ++i) {
    starts[i] = from.data + std::min<std::int64_t>(i, lines - 1) * from.step;
    groups[i] = reinterpret_cast<const Group*>(starts[i]);
  }
  const std::int64_t whole = depth / kGroup;
  interleave<kWidth>(groups, whole, reinterpret_cast<Group*>(to));
  if (whole * kGroup == depth) return;
  to += whole * kWidth * kGroup;
  for (int i = 0; i < kWidth; ++i) {
    for (int g = 0; g < kGroup; ++g)
      to[i * kGroup + g] = whole * kGroup + g < depth ? starts[i][whole * kGroup + g] : 0;
  }
}

inline void round_row(const float* from, std::int64_t count, std::uint16_t* to) {
#if defined(__AVX512BF16__)
  std::int64_t j = 0;
  for (; j + 32 <= count; j += 32) {
    const __m512bh rounded = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + j + 16), _mm512_loadu_ps(from + j));
    _mm512_storeu_si512(to + j, (__m512i)rounded);
  }
  for (; j < count; j += 16) {
    const auto there = static_cast<__mmask16>(count - j < 16 ? (1u << (count - j)) - 1 : 0xffffu);
    const __m256bh rounded = _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(there, from + j));
    _mm256_mask_storeu_epi16(to + j, there, (__m256i)rounded);
  }
#else
  for (std::int64_t j = 0; j < count; ++j) to[j] = BFloat16(from[j]).bits;
#endif
}

// At most kLines lines of float32, kDepth deep, rounded to bfloat16 and laid out as they were.
template <std::int64_t kLines, std::int64_t kDepth>
inline Operand<std::uint16_t> round_block(const Operand<float>& from, std::int64_t lines, std::int64_t depth,
                                          std::uint16_t* to) {
  const std::int64_t step = from.along ? kDepth : kLines;
  const std::int64_t rows = from.along ? lines : depth, columns = from.along ? depth : lines;
  for (std::int64_t i = 0; i < rows; ++i) round_row(from.data + i * from.step, columns, to + i * step);
  return {to, step, from.along};
}

}  // namespace cohort::products
