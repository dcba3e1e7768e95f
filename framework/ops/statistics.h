#pragma once

#include "cohort/core/tensor.h"
#include "cohort/ops/reduce.h"

namespace cohort::ops {

// The mean weighted by `weights`, which have x's shape or, for one axis, a number for each of its elements.
Tensor average(const Tensor& x, const Axes& axis = {}, const Tensor& weights = {});
// The middle of the sorted elements, of two middle ones their mean: along one axis or of all. The size must be known.
Tensor median(const Tensor& x, const Axes& axis = {}, bool keepdims = false);
// The largest element less the smallest.
Tensor ptp(const Tensor& x, const Axes& axis = {}, bool keepdims = false);

struct Moments {
  // Both in the shape that is left without the axes, or with them of size 1.
  Tensor mean, variance;
};
// Mean and variance over the axes.
Moments moments(const Tensor& x, const Axes& axes, bool keepdims = false);

// Reductions that leave out what is not a number.
Tensor nansum(const Tensor& x, const Axes& axis = {}, bool keepdims = false);
Tensor nanprod(const Tensor& x, const Axes& axis = {}, bool keepdims = false);
Tensor nanmean(const Tensor& x, const Axes& axis = {}, bool keepdims = false);
Tensor nanmax(const Tensor& x, const Axes& axis = {}, bool keepdims = false);
Tensor nanmin(const Tensor& x, const Axes& axis = {}, bool keepdims = false);

}  // namespace cohort::ops
