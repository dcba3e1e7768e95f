#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "cohort/ops/activations.h"
#include "cohort/ops/array.h"
#include "cohort/ops/broadcast.h"
#include "cohort/ops/categories.h"
#include "cohort/ops/indexing.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

// The names of keras.ops for what has another name here.
namespace cohort::ops {

// Of tensors and of symbols alike.
#define COHORT_KERAS_UNARY_NAME(keras, name)       \
  template <class X>                               \
  auto keras(const X& x)->decltype(ops::name(x)) { \
    return ops::name(x);                           \
  }
#define COHORT_KERAS_BINARY_NAME(keras, name)                     \
  template <class A, class B>                                     \
  auto keras(const A& a, const B& b)->decltype(ops::name(a, b)) { \
    return ops::name(a, b);                                       \
  }
// abs, acos, acosh, asin, asinh, atan, atanh, is_finite, is_inf and is_nan, elementwise, under the names of keras.ops.
COHORT_KERAS_UNARY_NAME(absolute, abs)
COHORT_KERAS_UNARY_NAME(arccos, acos)
COHORT_KERAS_UNARY_NAME(arccosh, acosh)
COHORT_KERAS_UNARY_NAME(arcsin, asin)
COHORT_KERAS_UNARY_NAME(arcsinh, asinh)
COHORT_KERAS_UNARY_NAME(arctan, atan)
COHORT_KERAS_UNARY_NAME(arctanh, atanh)
COHORT_KERAS_UNARY_NAME(isfinite, is_finite)
COHORT_KERAS_UNARY_NAME(isinf, is_inf)
COHORT_KERAS_UNARY_NAME(isnan, is_nan)
// atan2, pow and divide, elementwise, under the names of keras.ops.
COHORT_KERAS_BINARY_NAME(arctan2, atan2)
COHORT_KERAS_BINARY_NAME(power, pow)
COHORT_KERAS_BINARY_NAME(true_divide, divide)
#undef COHORT_KERAS_UNARY_NAME
#undef COHORT_KERAS_BINARY_NAME

// x * sigmoid(x).
inline Tensor swish(const Tensor& x) { return silu(x); }
// x * hard_sigmoid(x).
inline Tensor hard_swish(const Tensor& x) { return hard_silu(x); }
// The largest and the smallest elements over the axes.
inline Tensor amax(const Tensor& x, const Axes& axis = {}, bool keepdims = false) { return max(x, axis, keepdims); }
inline Tensor amin(const Tensor& x, const Axes& axis = {}, bool keepdims = false) { return min(x, axis, keepdims); }
// The standard deviation over the axes.
inline Tensor std(const Tensor& x, const Axes& axis = {}, bool keepdims = false) {
  return standard_deviation(x, axis, keepdims);
}
// The variance over the axes.
inline Tensor var(const Tensor& x, const Axes& axis = {}, bool keepdims = false) { return variance(x, axis, keepdims); }

// The sizes of the axes as a tensor (int64), known when the graph runs.
inline Tensor shape(const Tensor& x) { return shape_of(x); }
// The number of elements (int32), known when the graph runs.
inline Tensor size(const Tensor& x) { return size_of(x, {}, DType::Int32); }
// The number of axes.
inline int ndim(const Tensor& x) { return x.rank(); }
// x, of another type where one is given.
inline Tensor convert_to_tensor(const Tensor& x, std::optional<DType> dtype = std::nullopt) {
  return dtype ? cast(x, *dtype) : x;
}
// A tensor of one number, or of the numbers of a list.
inline Tensor convert_to_tensor(double value, DType dtype = DType::Float32) { return Tensor::full({}, value, dtype); }
template <class T>
Tensor convert_to_tensor(const std::vector<T>& values, std::optional<DType> dtype = std::nullopt) {
  return convert_to_tensor(Tensor::of(values, {static_cast<std::int64_t>(values.size())}), dtype);
}
// The same under numpy's name.
template <class T>
Tensor array(const T& values, std::optional<DType> dtype = std::nullopt) {
  return dtype ? cast(convert_to_tensor(values), *dtype) : convert_to_tensor(values);
}

// The number (int32) of the interval between the bins, which ascend, that each element lies in.
inline Tensor digitize(const Tensor& x, const std::vector<double>& bins) { return bucketize(x, bins); }
// How often 0, 1, 2, ... occur in x (..., n), each counting as much as its weight: (..., largest + 1), at least
// `minlength`. Reads x, so inside a function the largest number must be known: count_categories takes it.
Tensor bincount(const Tensor& x, const Tensor& weights = {}, std::int64_t minlength = 0);
// For each axis the positions (int32) of the elements that are not zero.
Tensors nonzero(const Tensor& x);
// The sums of the rows of `data` that have equal ids: (num_segments, ...). Without a number, the largest id plus one,
// which is read.
Tensor segment_sum(const Tensor& data, const Tensor& segment_ids,
                   std::optional<std::int64_t> num_segments = std::nullopt);

}  // namespace cohort::ops
