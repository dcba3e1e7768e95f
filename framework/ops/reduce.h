#pragma once

#include <initializer_list>
#include <optional>
#include <vector>

#include "cohort/core/tensor.h"

namespace cohort::ops {

// The axes of a reduction: one, a list, or none given for all of them. Negative ones count from the back.
struct Axes {
  Axes() = default;
  Axes(int axis) : values{axis} {}
  Axes(std::initializer_list<int> axes) : values(axes.begin(), axes.end()) {}
  Axes(std::vector<std::int64_t> axes) : values(std::move(axes)) {}
  // The axes; empty for all.
  std::vector<std::int64_t> values;
};

// Says at the call what the flag means: sum(x, -1, keep_dims).
inline constexpr bool keep_dims = true;

// The sum. Of all reductions: with `keep` the reduced axes stay as axes of size 1; sums of bool and 8-bit integers are
// int32, means of integers float32.
Tensor sum(const Tensor& x, const Axes& axes = {}, bool keep = false);
// The mean.
Tensor mean(const Tensor& x, const Axes& axes = {}, bool keep = false);
// The product.
Tensor prod(const Tensor& x, const Axes& axes = {}, bool keep = false);
// The largest element.
Tensor max(const Tensor& x, const Axes& axes = {}, bool keep = false);
// The smallest element.
Tensor min(const Tensor& x, const Axes& axes = {}, bool keep = false);
// True where one element at least is true, or not zero.
Tensor any(const Tensor& x, const Axes& axes = {}, bool keep = false);
// True where all elements are true, or not zero.
Tensor all(const Tensor& x, const Axes& axes = {}, bool keep = false);
// log(sum(exp(x))) without overflow.
Tensor logsumexp(const Tensor& x, const Axes& axes = {}, bool keep = false);
// The mean of the squared distances from the mean.
Tensor variance(const Tensor& x, const Axes& axes = {}, bool keep = false);
// The square root of the variance.
Tensor standard_deviation(const Tensor& x, const Axes& axes = {}, bool keep = false);
// How many elements are not zero.
Tensor count_nonzero(const Tensor& x, const Axes& axes = {}, bool keep = false);

// Index (int32) of the first largest element along an axis; without one, in the flattened tensor.
Tensor argmax(const Tensor& x, std::optional<int> axis = std::nullopt, bool keepdims = false);
// Index (int32) of the first smallest element along an axis; without one, in the flattened tensor.
Tensor argmin(const Tensor& x, std::optional<int> axis = std::nullopt, bool keepdims = false);

}  // namespace cohort::ops
