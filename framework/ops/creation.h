#pragma once

#include <cstdint>

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

// start, start + step, ... up to but without stop.
Tensor arange(double start, double stop, double step = 1, DType dtype = DType::Int32);
inline Tensor arange(double stop) { return arange(0, stop); }
// `num` values from start to stop, both included, equally far apart.
Tensor linspace(double start, double stop, std::int64_t num = 50, DType dtype = DType::Float32);
// Ones on the k-th diagonal of an n x m matrix (m = n when left out), zeros elsewhere.
Tensor eye(std::int64_t n, std::int64_t m = -1, std::int64_t k = 0, DType dtype = DType::Float32);

}  // namespace cohort::ops
