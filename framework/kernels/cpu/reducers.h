#pragma once

#include <cstdint>
#include <limits>

#include "cohort/kernels/cpu/element_types.h"

namespace cohort::kernels {

// How elements of type T combine: `Lane` is what the fast inner loops hold for a few dozen elements, `Total` what those
// are gathered in. Short float lanes gathered in double keep long sums exact to the last digits.
template <class T>
struct SumReducer {
  static constexpr bool kFloating = std::is_floating_point_v<Compute<T>>;
  using Lane = std::conditional_t<kFloating, Compute<T>, std::uint64_t>;
  using Total = std::conditional_t<kFloating, double, std::uint64_t>;
  static constexpr Lane kIdentity = 0;
  static Lane lift(T x) {
    if constexpr (kFloating) {
      return static_cast<Compute<T>>(x);
    } else {
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(x));
    }
  }
  template <class A, class B>
  static A merge(A a, B b) {
    return a + b;
  }
};

template <class T>
struct ProdReducer {
  static constexpr bool kFloating = std::is_floating_point_v<Compute<T>>;
  using Lane = std::conditional_t<kFloating, double, std::uint64_t>;
  using Total = Lane;
  static constexpr Lane kIdentity = 1;
  static Lane lift(T x) {
    if constexpr (kFloating) {
      return static_cast<Compute<T>>(x);
    } else {
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(x));
    }
  }
  static Lane merge(Lane a, Lane b) { return a * b; }
};

template <class T, class Functor, bool kLargest>
struct ExtremeReducer {
  using Lane = Compute<T>;
  using Total = Lane;
  using Limits = std::numeric_limits<Lane>;
  static constexpr Lane kIdentity = Limits::has_infinity ? (kLargest ? -Limits::infinity() : Limits::infinity())
                                                         : (kLargest ? Limits::lowest() : Limits::max());
  static Lane lift(T x) { return static_cast<Lane>(x); }
  static Lane merge(Lane a, Lane b) { return Functor{}(a, b); }
};
template <class T>
using MaxReducer = ExtremeReducer<T, fn::Maximum, true>;
template <class T>
using MinReducer = ExtremeReducer<T, fn::Minimum, false>;

template <class T>
struct AnyReducer {
  using Lane = bool;
  using Total = bool;
  static constexpr Lane kIdentity = false;
  static Lane lift(T x) { return x; }
  static Lane merge(Lane a, Lane b) { return a | b; }
};
template <class T>
struct AllReducer {
  using Lane = bool;
  using Total = bool;
  static constexpr Lane kIdentity = true;
  static Lane lift(T x) { return x; }
  static Lane merge(Lane a, Lane b) { return a & b; }
};

}  // namespace cohort::kernels
