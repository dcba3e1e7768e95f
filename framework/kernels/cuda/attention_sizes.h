#pragma once

#include <cstdint>

#include "cohort/kernels/attention_sizes.h"

namespace cohort::kernels::cuda {

#if defined(__CUDACC__)

struct KeyRange {
  std::int64_t begin, end;
};
// Keys outside of this range have no weight for any of the steps [first, last].
__device__ inline KeyRange keys_of(const AttentionSizes& sizes, std::int64_t first, std::int64_t last) {
  if (sizes.has_mask) return {0, sizes.keys};
  KeyRange range{0, sizes.causal ? min(sizes.keys, last + 1) : sizes.keys};
  // A step that sees no key at all looks at all of them.
  if (sizes.window > 0 && last - sizes.window + 1 < sizes.keys) {
    range.begin = max(std::int64_t{0}, first - sizes.window + 1);
    range.end = min(range.end, last + sizes.window);
  }
  return range;
}
struct StepRange {
  std::int64_t begin, end;
};
// Steps outside of this range give none of the keys [first, last] a weight.
__device__ inline StepRange steps_of(const AttentionSizes& sizes, std::int64_t first, std::int64_t last) {
  if (sizes.has_mask) return {0, sizes.steps};
  StepRange range{sizes.causal ? min(sizes.steps, first) : 0, sizes.steps};
  if (sizes.window > 0 && sizes.steps - sizes.window < sizes.keys) {  // every step sees a key
    range.begin = max(range.begin, first - sizes.window + 1);
    range.end = min(range.end, last + sizes.window);
  }
  return range;
}

__device__ inline bool sees(const AttentionSizes& sizes, const bool* mask, std::int64_t sample, std::int64_t head,
                            std::int64_t step, std::int64_t key) {
  const std::int64_t behind = step - key;
  if (sizes.causal && behind < 0) return false;
  if (sizes.window > 0 && (behind >= sizes.window || -behind >= sizes.window)) return false;
  return !sizes.has_mask || mask[sample * sizes.mask_strides[0] + head * sizes.mask_strides[1] +
                                 step * sizes.mask_strides[2] + key * sizes.mask_strides[3]];
}

#endif

}  // namespace cohort::kernels::cuda
