#include "cohort/ops/along_axes.h"

#include "cohort/ops/array.h"

namespace cohort::ops {

Tensor along_axes(const Tensor& factors, const Tensor& x, const std::vector<std::int64_t>& axes) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(x.rank()), 1);
  for (const std::int64_t axis : axes) {
    const int at = normalize_axis(static_cast<int>(axis), x.rank(), "normalization");
    shape[static_cast<std::size_t>(at)] = x.shape()[at];
  }
  return factors.rank() == x.rank() ? factors : reshape(factors, shape);
}

}  // namespace cohort::ops
