#pragma once

#include "cohort/core/dtype.h"
#include "cohort/kernels/cpu/element_types.h"
#include "cohort/kernels/cpu/elementwise_loops.h"
#include "cohort/kernels/cpu/visit.h"

namespace cohort::kernels {

// In every loop `ivdep` promises that elements do not depend on one another: the output may be an input's own memory,
// which the compiler would otherwise have to take for an overlap and leave the loop unvectorised.

template <class Functor, class T>
void unary_loop(const void* x_memory, void* y_memory, std::int64_t n) {
  using C = Compute<T>;
  using R = std::invoke_result_t<Functor, C>;
  using Y = std::conditional_t<std::is_same_v<R, bool>, bool, T>;
  const T* x = static_cast<const T*>(x_memory);
  Y* y = static_cast<Y*>(y_memory);
  const Functor functor;
  if constexpr (std::is_same_v<C, T>) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<Y>(functor(x[i]));
  } else {
    // Through a piece of float memory: conversions in the same loop would keep the functor from being vectorised.
    constexpr std::int64_t kPiece = 256;
    C wide[kPiece];
    R result[kPiece];
    for (; n > 0; x += kPiece, y += kPiece, n -= kPiece) {
      const std::int64_t count = n < kPiece ? n : kPiece;
      for (std::int64_t i = 0; i < count; ++i) wide[i] = static_cast<C>(x[i]);
      for (std::int64_t i = 0; i < count; ++i) result[i] = functor(wide[i]);
      for (std::int64_t i = 0; i < count; ++i) y[i] = static_cast<Y>(result[i]);
    }
  }
}

template <class Functor, class T, bool kAMoves, bool kBMoves>
void binary_loop(const void* a_memory, const void* b_memory, void* y_memory, std::int64_t rows, std::int64_t columns,
                 std::int64_t a_step, std::int64_t b_step) {
  using C = Compute<T>;
  using Y = std::conditional_t<std::is_same_v<std::invoke_result_t<Functor, C, C>, bool>, bool, T>;
  const T* a = static_cast<const T*>(a_memory);
  const T* b = static_cast<const T*>(b_memory);
  Y* y = static_cast<Y*>(y_memory);
  const Functor functor;
  for (std::int64_t row = 0; row < rows; ++row, a += a_step, b += b_step, y += columns) {
    if constexpr (kAMoves && kBMoves) {
#pragma GCC ivdep
      for (std::int64_t i = 0; i < columns; ++i) {
        y[i] = static_cast<Y>(functor(static_cast<C>(a[i]), static_cast<C>(b[i])));
      }
    } else if constexpr (kAMoves) {
      const C fixed = static_cast<C>(*b);
#pragma GCC ivdep
      for (std::int64_t i = 0; i < columns; ++i) y[i] = static_cast<Y>(functor(static_cast<C>(a[i]), fixed));
    } else {
      const C fixed = static_cast<C>(*a);
#pragma GCC ivdep
      for (std::int64_t i = 0; i < columns; ++i) y[i] = static_cast<Y>(functor(fixed, static_cast<C>(b[i])));
    }
  }
}

// The loop of a functor for a type met at run time.
template <class Functor, fn::Types types>
UnaryLoop unary_loop_for(DType dtype) {
  return visit_plain(dtype, [](auto zero) -> UnaryLoop {
    using T = decltype(zero);
    if constexpr (accepts<types, T>) return unary_loop<Functor, T>;
    return nullptr;
  });
}

template <class Functor, fn::Types types>
BinaryLoops binary_loops_for(DType dtype) {
  return visit_plain(dtype, [](auto zero) -> BinaryLoops {
    using T = decltype(zero);
    if constexpr (accepts<types, T>) {
      return {binary_loop<Functor, T, true, true>, binary_loop<Functor, T, false, true>,
              binary_loop<Functor, T, true, false>};
    }
    return {};
  });
}

template <class Functor, fn::Types types>
KernelFn make_unary(const KernelSpec& spec) {
  return unary_kernel(spec, unary_loop_for<Functor, types>(spec.input(0).dtype));
}

template <class Functor, fn::Types types>
KernelFn make_binary(const KernelSpec& spec) {
  return binary_kernel(spec, binary_loops_for<Functor, types>(spec.input(0).dtype));
}

}  // namespace cohort::kernels
