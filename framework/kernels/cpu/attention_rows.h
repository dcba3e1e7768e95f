#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "cohort/core/random.h"
#include "cohort/kernels/attention_sizes.h"
#include "cohort/kernels/cpu/softmax_rows.h"

namespace cohort {

// What an attention does to one row of scores: which keys a step sees, the softmax over them, the weights that are
// dropped.
struct AttentionRows : kernels::AttentionSizes {
  using AttentionSizes::AttentionSizes;

  // Keys from `keys_for` on are seen by none of the steps up to `last`, and nothing else depends on them.
  std::int64_t keys_for(std::int64_t last) const { return causal && !has_mask ? std::min(keys, last + 1) : keys; }

  template <class C>
  static constexpr C hidden = kernels::kHiddenScore<C>;

  // Of `count` keys those from here on are not even looked at: without a mask a later key has no weight, whatever its
  // score. A number that leaves whole vectors.
  std::int64_t seen_keys(std::int64_t count, std::int64_t step) const {
    constexpr std::int64_t kWhole = 16;
    return causal && !has_mask && window <= 0 ? std::min(count, (step / kWhole + 1) * kWhole) : count;
  }

  // Scales the scores of a step and hides those of keys it does not see.
  template <class C>
  void mask_row(C* row, std::int64_t count, const bool* mask, std::int64_t sample, std::int64_t head,
                std::int64_t step) const {
    count = seen_keys(count, step);
    for (std::int64_t j = 0; j < count; ++j) row[j] *= static_cast<C>(scale);
    if (mask) {
      const bool* at = mask + sample * mask_strides[0] + head * mask_strides[1] + step * mask_strides[2];
      for (std::int64_t j = 0; j < count; ++j) row[j] = at[j * mask_strides[3]] ? row[j] : hidden<C>;
    }
    if (causal && step + 1 < count) std::fill(row + step + 1, row + count, hidden<C>);
    if (window > 0) {
      std::fill(row, row + std::clamp<std::int64_t>(step - window + 1, 0, count), hidden<C>);
      std::fill(row + std::min(count, step + window), row + count, hidden<C>);
    }
  }

  // Masked scores to weights; the logarithm of their sum, by which they are computed again.
  template <class C>
  C softmax(C* row, std::int64_t keys, std::int64_t step) const {
    const std::int64_t count = seen_keys(keys, step);
    std::fill(row + count, row + keys, C(0));
    const C max = row_max(row, count);
    for (std::int64_t j = 0; j < count; ++j) row[j] = fn::exp(row[j] - max);
    const C sum = row_sum(row, count);
    const bool sees_none = max <= hidden<C>;
    const C factor = sees_none ? static_cast<C>(weight_without_keys) : C(1) / sum;
    for (std::int64_t j = 0; j < count; ++j) row[j] *= factor;
    return sees_none ? hidden<C> : max + fn::log(sum);
  }
  template <class C>
  void weights_again(C* row, std::int64_t keys, std::int64_t step, C logarithm) const {
    const std::int64_t count = seen_keys(keys, step);
    std::fill(row + count, row + keys, C(0));
    if (logarithm <= hidden<C>) {
      std::fill_n(row, count, static_cast<C>(weight_without_keys));
      return;
    }
    for (std::int64_t j = 0; j < count; ++j) row[j] = fn::exp(row[j] - logarithm);
  }

  // to = from with the dropped weights as zeros and the others scaled: the same choice as the op Dropout makes of
  // (batch, heads, steps, keys).
  template <class C>
  void drop(const C* from, C* to, std::int64_t count, const PhiloxStream& stream, std::int64_t head,
            std::int64_t step) const {
    const auto first = static_cast<std::uint64_t>((head * steps + step) * keys);
    std::array<std::uint32_t, 4> words{};
    for (std::int64_t j = 0; j < count; ++j) {
      const std::uint64_t at = first + static_cast<std::uint64_t>(j);
      if (j == 0 || at % 4 == 0) words = stream.block(at / 4);
      to[j] = words[at % 4] < threshold ? C(0) : from[j] * static_cast<C>(kept);
    }
  }
};

}  // namespace cohort
