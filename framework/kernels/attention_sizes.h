#pragma once

#include <cmath>
#include <cstdint>

#include "cohort/core/kernel.h"

namespace cohort::kernels {

// Sizes and options of an attention as kernels get them. Tensors are (batch, steps or keys, heads, size).
struct AttentionSizes {
  std::int64_t batch, steps, heads, size, keys, key_heads, value_size;
  double scale;
  bool causal, zero_without_keys, has_mask;
  std::int64_t window;
  std::uint64_t seed, threshold;  // random words below the threshold drop their weight
  double kept;                    // what the others are multiplied with
  double weight_without_keys;     // of every key for a step that sees none
  std::int64_t mask_strides[4];

  // Query, key and value are the inputs 0 to 2, the mask input `mask` if there is one.
  AttentionSizes(const KernelSpec& spec, int mask)
      : batch(spec.input(0).shape[0]),
        steps(spec.input(0).shape[1]),
        heads(spec.input(0).shape[2]),
        size(spec.input(0).shape[3]),
        keys(spec.input(1).shape[1]),
        key_heads(spec.input(1).shape[2]),
        value_size(spec.input(2).shape[3]),
        scale(spec.attr<double>("scale")),
        causal(spec.attr<bool>("is_causal")),
        zero_without_keys(spec.attr<bool>("zero_without_keys")),
        has_mask(spec.num_inputs() > mask),
        window(spec.attr<std::int64_t>("sliding_window")),
        seed(static_cast<std::uint64_t>(spec.attr<std::int64_t>("seed"))),
        threshold(static_cast<std::uint64_t>(std::llround(spec.attr<double>("dropout") * 4294967296.0))),
        kept(1.0 / (1.0 - spec.attr<double>("dropout"))),
        weight_without_keys(zero_without_keys || keys == 0 ? 0.0 : 1.0 / static_cast<double>(keys)),
        mask_strides{} {
    if (!has_mask) return;
    const Shape& shape = spec.input(mask).shape;
    std::int64_t stride = 1;
    for (int i = 3; i >= 0; --i) {
      mask_strides[i] = shape[i] == 1 ? 0 : stride;
      stride *= shape[i];
    }
  }

  bool drops() const { return threshold > 0; }
};

// The score of a key that a step does not see.
template <class C>
inline constexpr C kHiddenScore = static_cast<C>(-2.372671e38);

}  // namespace cohort::kernels
