#include "cohort/layers/attention/attention_masks.h"

#include <vector>

#include "cohort/ops/array.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/cumulative.h"
#include "cohort/ops/math.h"
#include "cohort/ops/slicing.h"

namespace cohort::layers {

Tensor both_masks(const Tensor& a, const Tensor& b) {
  if (!a.defined()) return b;
  return b.defined() ? ops::logical_and(a, b) : a;
}

Tensor with_rank(const Tensor& mask, int rank, int last) {
  Tensor result = mask;
  while (result.rank() < rank) result = ops::expand_dims(result, result.rank() < last ? 0 : result.rank() - last);
  return result;
}

Tensor position_mask(const Tensor& scores, bool causal, std::int64_t window) {
  if (!causal && window == 0) return {};
  const auto rank = static_cast<std::size_t>(scores.rank());
  std::vector<std::int64_t> begin(rank, 0), size(rank, 1);
  size[rank - 2] = size[rank - 1] = -1;
  const Tensor ones = ops::ones_like(ops::cast(ops::slice(scores, begin, size), DType::Float32));
  const Tensor ahead = ops::cumsum(ones, -2) - ops::cumsum(ones, -1);  // how far the step is ahead of the key
  Tensor visible;
  if (causal) visible = ahead >= 0.0;
  if (window > 0) visible = both_masks(visible, ops::abs(ahead) < static_cast<double>(window));
  return visible;
}

}  // namespace cohort::layers
