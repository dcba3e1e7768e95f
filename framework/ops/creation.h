#pragma once

#include <cstdint>
#include <type_traits>

#include "cohort/core/tensor.h"

namespace cohort::ops {

// A tensor of one repeated value. Inside a trace this and its like are nodes, not constants that travel.
Tensor full(const Shape& shape, double value, DType dtype = DType::Float32);
// Zeros.
Tensor zeros(const Shape& shape, DType dtype = DType::Float32);
// Ones.
Tensor ones(const Shape& shape, DType dtype = DType::Float32);
// A tensor of one repeated value with the shape and type of another.
Tensor full_like(const Tensor& x, double value);
// Zeros with the shape and type of another tensor.
Tensor zeros_like(const Tensor& x);
// Ones with the shape and type of another tensor.
Tensor ones_like(const Tensor& x);

// start, start + step, ... up to but without stop. Without a dtype, int32 where all three are integers, else float32.
Tensor arange(double start, double stop, double step, DType dtype);
template <class Start, class Stop, class Step = int>
requires std::is_arithmetic_v<Start> && std::is_arithmetic_v<Stop> && std::is_arithmetic_v<Step> Tensor
arange(Start start, Stop stop, Step step = 1) {
  constexpr bool whole = std::is_integral_v<Start> && std::is_integral_v<Stop> && std::is_integral_v<Step>;
  return arange(static_cast<double>(start), static_cast<double>(stop), static_cast<double>(step),
                whole ? DType::Int32 : DType::Float32);
}
template <class Stop>
requires std::is_arithmetic_v<Stop> Tensor arange(Stop stop) { return arange(Stop{0}, stop, 1); }
// `num` values from start to stop, both included, equally far apart.
Tensor linspace(double start, double stop, std::int64_t num = 50, DType dtype = DType::Float32);
// Ones on the k-th diagonal of an n x m matrix (m = n when left out), zeros elsewhere.
Tensor eye(std::int64_t n, std::int64_t m = -1, std::int64_t k = 0, DType dtype = DType::Float32);
// The identity matrix of n rows.
inline Tensor identity(std::int64_t n, DType dtype = DType::Float32) { return eye(n, n, 0, dtype); }

}  // namespace cohort::ops
