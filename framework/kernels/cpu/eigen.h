#pragma once

// The C library's headers that Eigen includes: what they declare must not be hidden below, or the linker would not look
// for it in the C library.
#include <cassert>
#include <cerrno>
#include <climits>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>

// Eigen is hidden, so that a program with an Eigen of its own never shares code with this one.
#define EIGEN_DONT_PARALLELIZE
#pragma GCC visibility push(hidden)
#include <Eigen/Dense>
#pragma GCC visibility pop

namespace cohort {

// Matrices as tensors hold them, and such in the memory of a kernel's input or output.
template <class T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using InMatrix = Eigen::Map<const RowMajor<T>>;
template <class T>
using OutMatrix = Eigen::Map<RowMajor<T>>;

}  // namespace cohort
