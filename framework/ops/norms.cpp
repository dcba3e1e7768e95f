#include "cohort/ops/norms.h"

#include "cohort/ops/along_axes.h"
#include "cohort/ops/array.h"
#include "cohort/ops/full_precision.h"
#include "cohort/ops/linalg.h"
#include "cohort/ops/math.h"

namespace cohort::ops {

Tensor normalize(const Tensor& x, const Axes& axis, int order, double epsilon) {
  const Tensor values = to_floating(x);
  if (order == 2) return values * minimum(rsqrt(sum(square(values), axis, keep_dims)), 1.0 / epsilon);
  return values / maximum(norm(values, order, axis, keep_dims), epsilon);
}

Tensor layer_normalization(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Axes& axis, double epsilon,
                           bool rms_scaling) {
  const Tensor values = to_full_precision(x);
  const auto part = [&](const Tensor& factors) {
    return along_axes(cast(factors, values.dtype()), values, axis.values);
  };
  Tensor result = rms_scaling ? values : values - mean(values, axis, keep_dims);
  result = result * rsqrt(variance(values, axis, keep_dims) + epsilon);
  if (gamma.defined()) result = result * part(gamma);
  if (beta.defined() && !rms_scaling) result = result + part(beta);
  return cast(result, x.dtype());
}

Tensor rms_normalization(const Tensor& x, const Tensor& scale, const Axes& axis, double epsilon) {
  const Tensor values = to_full_precision(x);
  const Tensor result = values * rsqrt(mean(square(values), axis, keep_dims) + epsilon);
  return cast(scale.defined() ? result * cast(scale, values.dtype()) : result, x.dtype());
}

Tensor batch_normalization(const Tensor& x, const Tensor& mean, const Tensor& variance, const Axes& axis,
                           const Tensor& offset, const Tensor& scale, double epsilon) {
  const auto part = [&](const Tensor& factors) { return along_axes(factors, x, axis.values); };
  Tensor factor = rsqrt(part(variance) + epsilon);
  if (scale.defined()) factor = factor * part(scale);
  const Tensor result = (x - part(mean)) * factor;
  return offset.defined() ? result + part(offset) : result;
}

}  // namespace cohort::ops
