#pragma once

#include <cstdint>
#include <type_traits>

#include "cohort/kernels/cuda/typed_elements.h"

namespace cohort::kernels::cuda {

// How elements combine that are computed in C: `Lane` is what a thread holds for a few of them, `Total` what those are
// gathered in, `Result` what elements of the output are computed in. As on the CPU, short float lanes gathered in
// double keep long sums exact to the last digits; integers wrap around.
template <class C>
struct SumReducer {
  static constexpr bool kFloating = std::is_floating_point_v<C>;
  using Lane = std::conditional_t<kFloating, C, std::uint64_t>;
  using Total = std::conditional_t<kFloating, double, std::uint64_t>;
  using Result = C;
  bool divides;  // the result, by `divisor`
  double divisor;

  __device__ Lane lift(C x, std::int64_t) const { return static_cast<Lane>(x); }
  __device__ Total nothing() const { return 0; }
  template <class A, class B>
  __device__ A merge(A a, B b) const {
    return a + b;
  }
  __device__ Result result(Total total) const {
    if constexpr (kFloating) {
      if (divides) return static_cast<C>(total / divisor);
    }
    return static_cast<C>(total);
  }
};

template <class C>
struct ProdReducer {
  using Lane = std::conditional_t<std::is_floating_point_v<C>, double, std::uint64_t>;
  using Total = Lane;
  using Result = C;

  __device__ Lane lift(C x, std::int64_t) const { return static_cast<Lane>(x); }
  __device__ Total nothing() const { return 1; }
  __device__ Lane merge(Lane a, Lane b) const { return a * b; }
  __device__ Result result(Total total) const { return static_cast<C>(total); }
};

// The largest or smallest element; NaN wins. Any and All are the largest and smallest of 0 and 1.
template <class C>
struct ExtremeReducer {
  using Lane = C;
  using Total = C;
  using Result = C;
  bool largest;
  C of_nothing;

  __device__ Lane lift(C x, std::int64_t) const { return x; }
  __device__ Total nothing() const { return of_nothing; }
  __device__ C merge(C a, C b) const { return largest ? fn::Maximum{}(a, b) : fn::Minimum{}(a, b); }
  __device__ Result result(Total total) const { return total; }
};

// Where the largest or smallest element is: the first of equals; the first NaN beats every number.
template <class C>
struct ArgReducer {
  struct Best {
    C value;
    std::int32_t index;  // below 0: nothing seen yet
  };
  using Lane = Best;
  using Total = Best;
  using Result = std::int64_t;
  bool largest;

  __device__ Lane lift(C x, std::int64_t position) const { return {x, static_cast<std::int32_t>(position)}; }
  __device__ Total nothing() const { return {C(0), -1}; }
  __device__ bool beats(C a, C b) const { return (largest ? a > b : a < b) | ((a != a) & (b == b)); }
  __device__ Best merge(const Best& a, const Best& b) const {
    if (b.index < 0) return a;
    if (a.index < 0) return b;
    if (beats(a.value, b.value)) return a;
    if (beats(b.value, a.value)) return b;
    return a.index < b.index ? a : b;
  }
  __device__ Result result(const Total& total) const { return total.index; }
};

}  // namespace cohort::kernels::cuda
