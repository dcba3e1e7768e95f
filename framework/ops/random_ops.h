#pragma once

#include <cstdint>

#include "cohort/core/tensor.h"

namespace cohort::ops {

// Random tensors. Every number is decided by the run's state, the op's seed, the row (the sample of the batch) and the
// position in the row, so it does not depend on threads or on how a batch is divided. A tensor with one axis has rows
// of one element.

// As a seed: takes the next of the process's op seeds, once. A traced op draws new numbers at every step.
inline constexpr std::int64_t kFreshSeed = -1;

// Uniform in [minval, maxval); integer types draw integers.
Tensor random_uniform(const Shape& shape, double minval = 0, double maxval = 1, DType dtype = DType::Float32,
                      std::int64_t seed = kFreshSeed);
// Normally distributed.
Tensor random_normal(const Shape& shape, double mean = 0, double stddev = 1, DType dtype = DType::Float32,
                     std::int64_t seed = kFreshSeed);
// Normally distributed, but drawn again while more than two standard deviations away.
Tensor truncated_normal(const Shape& shape, double mean = 0, double stddev = 1, DType dtype = DType::Float32,
                        std::int64_t seed = kFreshSeed);
// 1 with the given probability, else 0.
Tensor bernoulli(const Shape& shape, double probability = 0.5, DType dtype = DType::Float32,
                 std::int64_t seed = kFreshSeed);

// random_uniform with the shape and type of another tensor, whose batch may be unknown.
Tensor random_uniform_like(const Tensor& x, double minval = 0, double maxval = 1, std::int64_t seed = kFreshSeed);
// random_normal with the shape and type of another tensor.
Tensor random_normal_like(const Tensor& x, double mean = 0, double stddev = 1, std::int64_t seed = kFreshSeed);
// truncated_normal with the shape and type of another tensor.
Tensor truncated_normal_like(const Tensor& x, double mean = 0, double stddev = 1, std::int64_t seed = kFreshSeed);
// bernoulli with the shape and type of another tensor.
Tensor bernoulli_like(const Tensor& x, double probability = 0.5, std::int64_t seed = kFreshSeed);

// Zeros a share `rate` of the elements and scales the others by 1 / (1 - rate).
Tensor dropout(const Tensor& x, double rate, std::int64_t seed = kFreshSeed);
// A random order of the numbers 0 ... rows of x - 1, as int64.
Tensor random_permutation_like(const Tensor& x, std::int64_t seed = kFreshSeed);
// x with its rows in a random order.
Tensor shuffle(const Tensor& x, std::int64_t seed = kFreshSeed);

}  // namespace cohort::ops
