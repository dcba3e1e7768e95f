#include "cohort/ops/norms.h"

#include <cmath>

#include "cohort/ops/array.h"
#include "cohort/ops/math.h"

namespace cohort::ops {
namespace {

using NormAxes = std::vector<std::int64_t>;

Tensor norm_of_vectors(const Tensor& x, double order, const NormAxes& axes, bool keep) {
  if (order == 2.0) return sqrt(sum(square(x), axes, keep));
  if (order == INFINITY) return max(abs(x), axes, keep);
  if (order == -INFINITY) return min(abs(x), axes, keep);
  if (order == 0.0) return sum(cast(not_equal(x, 0.0), x.dtype()), axes, keep);
  return pow(sum(pow(abs(x), order), axes, keep), 1.0 / order);
}

// 1 and infinity: the largest sum of magnitudes along rows and along columns; negative: the smallest.
Tensor norm_of_matrices(const Tensor& x, double order, const NormAxes& axes, bool keep) {
  const bool along_rows = std::abs(order) == 1.0;
  if (!along_rows && std::isfinite(order)) {
    throw unimplemented("norm", "an order of 1, -1, infinity or 'fro' is expected for matrices", {{"ord", order}});
  }
  const Tensor sums = sum(abs(x), static_cast<int>(axes[along_rows ? 0 : 1]), keep_dims);
  const int other = static_cast<int>(axes[along_rows ? 1 : 0]);
  const Tensor result = order > 0 ? max(sums, other, keep_dims) : min(sums, other, keep_dims);
  return keep ? result : squeeze(result, axes);
}

// What statistics are computed in.
Tensor wide(const Tensor& x) { return x.dtype() == DType::Float64 ? x : cast(x, DType::Float32); }

}  // namespace

Tensor along_axes(const Tensor& factors, const Tensor& x, const NormAxes& axes) {
  NormAxes shape(static_cast<std::size_t>(x.rank()), 1);
  for (const std::int64_t axis : axes) {
    const int at = normalize_axis(static_cast<int>(axis), x.rank(), "normalization");
    shape[static_cast<std::size_t>(at)] = x.shape()[at];
  }
  return factors.rank() == x.rank() ? factors : reshape(factors, shape);
}

Tensor norm(const Tensor& x, const NormOrder& ord, const Axes& axis, bool keepdims) {
  const Tensor values = to_floating(x);
  NormAxes axes = axis.values;
  if (axes.empty()) {
    for (int each = 0; each < x.rank(); ++each) axes.push_back(each);
  }
  if (!ord.name.empty() && (ord.name != "fro" || axes.size() != 2)) {
    throw unimplemented("norm", "of the norms with a name, 'fro' of two axes is expected",
                        {{"ord", ord.name}, {"axes", axes.size()}});
  }
  if (!ord.number) return norm_of_vectors(values, 2.0, axes, keepdims);
  if (axes.size() > 2) throw invalid_argument("norm", "one or two axes are expected", {{"axes", axes.size()}});
  return axes.size() == 2 ? norm_of_matrices(values, *ord.number, axes, keepdims)
                          : norm_of_vectors(values, *ord.number, axes, keepdims);
}

Tensor normalize(const Tensor& x, const Axes& axis, double order, double epsilon) {
  const Tensor values = to_floating(x);
  if (order == 2.0) return values * minimum(rsqrt(sum(square(values), axis, keep_dims)), 1.0 / epsilon);
  return values / maximum(norm_of_vectors(values, order, axis.values, keep_dims), epsilon);
}

Tensor layer_normalization(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Axes& axis, double epsilon,
                           bool rms_scaling) {
  const Tensor values = wide(x);
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
  const Tensor values = wide(x);
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
