#pragma once

#include <cstdint>
#include <string_view>

#include "cohort/core/kernel.h"

namespace cohort::kernels {

// y[i] = f(x[i]) for n elements; y may be x.
using UnaryLoop = void (*)(const void* x, void* y, std::int64_t n);

// Rows of y = f(a, b): y's rows lie back to back, those of a and b start a_step and b_step elements apart.
using BinaryLoop = void (*)(const void* a, const void* b, void* y, std::int64_t rows, std::int64_t columns,
                            std::int64_t a_step, std::int64_t b_step);

// The loops of one binary op, by what stays on one element within a row.
struct BinaryLoops {
  BinaryLoop both = nullptr, a_fixed = nullptr, b_fixed = nullptr;
  BinaryLoop pick(bool a_moves, bool b_moves) const { return !a_moves ? a_fixed : !b_moves ? b_fixed : both; }
};

// Rows of y = condition ? a : b, for elements of 1, 2, 4 or 8 bytes.
using SelectLoop = void (*)(const bool* condition, const void* a, const void* b, void* y, std::int64_t rows,
                            std::int64_t columns, std::int64_t condition_step, std::int64_t a_step,
                            std::int64_t b_step);

// The loop behind an elementwise op of the functor table for inputs of `dtype`; empty when the op is not of this kind
// or does not take the type. The kernels and the fuser run the very same loops, so their results agree bit for bit.
UnaryLoop find_unary_loop(std::string_view op, DType dtype);
BinaryLoops find_binary_loops(std::string_view op, DType dtype);
UnaryLoop find_cast_loop(DType from, DType to);
SelectLoop find_select_loop(std::size_t element_bytes, bool condition_moves, bool a_moves, bool b_moves);
// Rows of y = x, for elements of 1, 2, 4 or 8 bytes.
using CopyLoop = void (*)(const void* x, void* y, std::int64_t rows, std::int64_t columns, std::int64_t x_step);
CopyLoop find_copy_loop(std::size_t element_bytes, bool x_moves);

// Kernels around a loop, for the shapes and types of a spec; empty when the loop is.
KernelFn unary_kernel(const KernelSpec& spec, UnaryLoop loop);
KernelFn binary_kernel(const KernelSpec& spec, const BinaryLoops& loops);

}  // namespace cohort::kernels
