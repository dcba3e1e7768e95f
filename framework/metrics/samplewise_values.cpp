#include "cohort/metrics/samplewise_values.h"

#include <numeric>
#include <tuple>
#include <vector>

#include "cohort/core/masks.h"
#include "cohort/losses/loss.h"
#include "cohort/ops/math.h"

namespace cohort::metrics {
namespace {

std::vector<std::int64_t> axes_between(int first, int last) {
  std::vector<std::int64_t> axes(static_cast<std::size_t>(last - first));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

}  // namespace

std::pair<Tensor, Tensor> reduce_to_samplewise_values(const Tensor& given_values, const Tensor& sample_weight,
                                                      Reduction reduce, DType dtype) {
  Tensor values = ops::cast(given_values, dtype), weights;
  if (sample_weight.defined()) {
    weights = apply_mask(ops::cast(sample_weight, dtype), mask_of(given_values), dtype, "sum");
    std::tie(values, weights) = squeeze_or_expand_to_same_rank(values, weights);
    const int weight_rank = weights.rank();
    if (values.rank() > weight_rank) values = reduce(values, axes_between(weight_rank, values.rank()), false);
    // The product would broadcast by itself; the sum of the weights would not.
    weights = ops::broadcast_like(weights, values);
    values = values * weights;
    if (weight_rank > 1) weights = reduce(weights, axes_between(1, weight_rank), false);
  }
  if (values.rank() > 1) values = reduce(values, axes_between(1, values.rank()), false);
  return {values, weights};
}

}  // namespace cohort::metrics
