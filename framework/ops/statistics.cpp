#include "cohort/ops/statistics.h"

#include <cmath>

#include "cohort/ops/along_axes.h"
#include "cohort/ops/array.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/math.h"
#include "cohort/ops/slicing.h"
#include "cohort/ops/sorting.h"

namespace cohort::ops {
namespace {

Tensor without_nan(const Tensor& x, double instead) { return where(is_nan(x), full_like(x, instead), x); }
Tensor numbers_in(const Tensor& x, const Axes& axes, bool keep) {
  return sum(cast(logical_not(is_nan(x)), x.dtype()), axes, keep);
}

}  // namespace

Tensor average(const Tensor& x, const Axes& axis, const Tensor& weights) {
  const Tensor values = to_floating(x);
  if (!weights.defined()) return mean(values, axis);
  Tensor factors = cast(weights, values.dtype());
  if (factors.rank() == 1 && values.rank() > 1 && axis.values.size() == 1) {
    factors = along_axes(factors, values, axis.values);
  }
  return sum(values * factors, axis) / sum(broadcast_like(factors, values), axis);
}

Tensor median(const Tensor& x, const Axes& axis, bool keepdims) {
  const std::vector<std::int64_t>& axes = axis.values;
  if (axes.size() > 1) throw unimplemented("median", "one axis or none is expected", {{"axes", axes.size()}});
  const Tensor values = axes.empty() ? ravel(to_floating(x)) : to_floating(x);
  const int along = axes.empty() ? 0 : normalize_axis(static_cast<int>(axes[0]), x.rank(), "median");
  const std::int64_t size = values.shape()[along];
  if (size < 1) throw unimplemented("median", "an axis of a known size is expected", {{"x.shape", x.shape()}});
  const Tensor sorted = sort(values, along);
  Tensor middle = (take_at(sorted, (size - 1) / 2, along) + take_at(sorted, size / 2, along)) * 0.5;
  if (keepdims) {
    for (int i = 0; i < (axes.empty() ? x.rank() : 1); ++i) middle = expand_dims(middle, along);
  }
  return middle;
}

Tensor ptp(const Tensor& x, const Axes& axis, bool keepdims) { return max(x, axis, keepdims) - min(x, axis, keepdims); }

Moments moments(const Tensor& x, const Axes& axes, bool keepdims) {
  return {mean(x, axes, keepdims), variance(x, axes, keepdims)};
}

Tensor nansum(const Tensor& x, const Axes& axis, bool keepdims) { return sum(without_nan(x, 0.0), axis, keepdims); }
Tensor nanprod(const Tensor& x, const Axes& axis, bool keepdims) { return prod(without_nan(x, 1.0), axis, keepdims); }
Tensor nanmean(const Tensor& x, const Axes& axis, bool keepdims) {
  const Tensor values = to_floating(x);
  return nansum(values, axis, keepdims) / numbers_in(values, axis, keepdims);
}
Tensor nanmax(const Tensor& x, const Axes& axis, bool keepdims) {
  if (!is_floating(x.dtype())) return max(x, axis, keepdims);
  return where(all(is_nan(x), axis, keepdims), NAN, max(without_nan(x, -INFINITY), axis, keepdims));
}
Tensor nanmin(const Tensor& x, const Axes& axis, bool keepdims) {
  if (!is_floating(x.dtype())) return min(x, axis, keepdims);
  return where(all(is_nan(x), axis, keepdims), NAN, min(without_nan(x, INFINITY), axis, keepdims));
}

}  // namespace cohort::ops
