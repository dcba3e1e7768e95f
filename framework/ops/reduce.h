#pragma once

#include <initializer_list>
#include <vector>

#include "cohort/core/tensor.h"

namespace cohort::ops {

// The axes of a reduction: one, a list, or none given for all of them. Negative ones count from the back.
struct Axes {
  Axes() = default;
  Axes(int axis) : values{axis} {}
  Axes(std::initializer_list<int> axes) : values(axes.begin(), axes.end()) {}
  Axes(std::vector<std::int64_t> axes) : values(std::move(axes)) {}
  std::vector<std::int64_t> values;
};

// Says at the call what the flag means: sum(x, -1, keep_dims).
inline constexpr bool keep_dims = true;

// Reductions; with `keep` the reduced axes stay as axes of size 1. Sums of bool and 8-bit integers are int32, means of
// integers float32.
Tensor sum(const Tensor& x, const Axes& axes = {}, bool keep = false);
Tensor mean(const Tensor& x, const Axes& axes = {}, bool keep = false);
Tensor prod(const Tensor& x, const Axes& axes = {}, bool keep = false);
Tensor max(const Tensor& x, const Axes& axes = {}, bool keep = false);
Tensor min(const Tensor& x, const Axes& axes = {}, bool keep = false);
Tensor any(const Tensor& x, const Axes& axes = {}, bool keep = false);
Tensor all(const Tensor& x, const Axes& axes = {}, bool keep = false);
// log(sum(exp(x))) without overflow.
Tensor logsumexp(const Tensor& x, const Axes& axes = {}, bool keep = false);
// The mean of the squared distances from the mean.
Tensor variance(const Tensor& x, const Axes& axes = {}, bool keep = false);
Tensor standard_deviation(const Tensor& x, const Axes& axes = {}, bool keep = false);
Tensor count_nonzero(const Tensor& x, const Axes& axes = {}, bool keep = false);

// Index (int64) of the first largest or smallest element along an axis.
Tensor argmax(const Tensor& x, int axis = -1, bool keep = false);
Tensor argmin(const Tensor& x, int axis = -1, bool keep = false);

}  // namespace cohort::ops
