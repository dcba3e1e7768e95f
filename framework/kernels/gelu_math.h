#pragma once

#include "cohort/kernels/scalar_math.h"

namespace cohort::fn {

// x * Phi(x) and its slope Phi(x) + x * phi(x), or the same with a tanh in place of Phi.
template <class T>
struct GeluAndSlope {
  T value, slope;
};

inline constexpr double kGeluScale = 0.7978845608028654;  // sqrt(2 / pi)
inline constexpr double kGeluCube = 0.044715;

// The normal distribution's tail is its density times a smooth function: a polynomial in 1 / (1 + |x| * 0.23), right to
// 5e-8. So one exponential serves both results.
COHORT_FN GeluAndSlope<float> gelu(float x) {
  const float t = 1.0f / multiply_add(absolute(x), 0.23f, 1.0f);
  float p = -0x1.41671ep-4f;
  p = multiply_add(p, t, 0x1.296258p-2f);
  p = multiply_add(p, t, -0x1.1ccd5ap-2f);
  p = multiply_add(p, t, 0x1.34b550p-2f);
  p = multiply_add(p, t, -0x1.0daebep-5f);
  p = multiply_add(p, t, 0x1.e98794p-4f);
  p = multiply_add(p, t, 0x1.5f48f0p-4f);
  p = multiply_add(p, t, 0x1.7a61d6p-4f);
  p = multiply_add(p, t, -0x1.d1c6b6p-16f);
  const float density = exp(-0.5f * x * x), tail = density * p;
  const float below = select(x < 0.0f, tail, 1.0f - tail);
  return {x * below, multiply_add(x * density, 0.39894228f, below)};
}
COHORT_FN GeluAndSlope<double> gelu(double x) {
  const double below = 0.5 * erfc(x * -0.7071067811865476);
  return {x * below, below + x * exp(-0.5 * x * x) * 0.3989422804014327};
}

// With the share (1 + t) / 2 of x, where t is the tanh of this.
template <class T>
COHORT_FN T gelu_argument(T x) {
  return static_cast<T>(kGeluScale) * x * (static_cast<T>(kGeluCube) * x * x + T(1));
}
template <class T>
COHORT_FN GeluAndSlope<T> gelu_of_tanh(T x, T t) {
  constexpr T kScale = static_cast<T>(kGeluScale), kCube = static_cast<T>(kGeluCube);
  const T square = x * x, share = T(0.5) * t + T(0.5);
  const T steepness = kScale * (T(3) * kCube * square + T(1));
  return {x * share, x * share * (T(1) - t) * steepness + share};
}

// Which of the two a kernel computes.
struct GeluByErf {
  template <class T>
  COHORT_FN GeluAndSlope<T> operator()(T x) const {
    return gelu(x);
  }
};
struct GeluByTanh {
  template <class T>
  COHORT_FN GeluAndSlope<T> operator()(T x) const {
    return gelu_of_tanh(x, tanh(gelu_argument(x)));
  }
};

}  // namespace cohort::fn
