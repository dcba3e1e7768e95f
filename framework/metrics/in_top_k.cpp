#include "cohort/metrics/in_top_k.h"

#include "cohort/ops/array.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::metrics {

Tensor in_top_k(const Tensor& labels, const Tensor& predictions, std::int64_t k) {
  Tensor numbers = ops::cast(labels, DType::Int64);
  if (numbers.rank() == predictions.rank()) numbers = ops::squeeze(numbers, {-1});
  const auto classes = static_cast<double>(predictions.shape().back());
  const Tensor is_label = ops::equal(ops::expand_dims(numbers, -1), ops::arange(0, classes, 1, DType::Int64));
  const Tensor score = ops::sum(ops::where(is_label, predictions, 0.0), -1, /*keep_dims=*/true);
  const Tensor better = ops::sum(ops::cast(predictions > score, DType::Float32), -1);
  return better < static_cast<double>(k);
}

}  // namespace cohort::metrics
