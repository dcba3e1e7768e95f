#include "cohort/ops/keras_names.h"

#include <algorithm>

#include "cohort/ops/creation.h"
#include "cohort/ops/joining.h"

namespace cohort::ops {
namespace {

std::int64_t one_more_than_largest(const Tensor& x) {
  return x.shape().num_elements() == 0 ? 0 : cast(max(x), DType::Int64).item<std::int64_t>() + 1;
}

}  // namespace

Tensor bincount(const Tensor& x, const Tensor& weights, std::int64_t minlength) {
  const std::int64_t depth = std::max(one_more_than_largest(x), minlength);
  const DType dtype = weights.defined() ? weights.dtype() : DType::Int32;
  if (depth == 0) return zeros({0}, dtype);
  return count_categories(x, depth, /*binary=*/false, dtype, weights);
}

Tensors nonzero(const Tensor& x) { return unstack(cast(where(x), DType::Int32), x.rank(), 1); }

Tensor segment_sum(const Tensor& data, const Tensor& segment_ids, std::optional<std::int64_t> num_segments) {
  Shape sums = data.shape();
  sums[0] = num_segments ? *num_segments : one_more_than_largest(segment_ids);
  return scatter_add_like(zeros(sums, data.dtype()), segment_ids, data);
}

}  // namespace cohort::ops
