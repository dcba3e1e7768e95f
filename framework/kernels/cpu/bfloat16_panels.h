#pragma once

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

}  // namespace cohort::products
