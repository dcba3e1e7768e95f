#pragma once

// Scalar mathematics shared by the CPU kernels, the fuser and the GPU kernels that are compiled at run time: it
// includes nothing a GPU compiler lacks and stays within C++17.
#if !defined(__CUDACC_RTC__)
#include <math.h>
#endif

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define COHORT_FN __host__ __device__ inline
#else
#define COHORT_FN inline __attribute__((always_inline))
#endif

namespace cohort::fn {

template <class T>
struct IsFloat {
  static constexpr bool value = false;
};
template <>
struct IsFloat<float> {
  static constexpr bool value = true;
};
template <>
struct IsFloat<double> {
  static constexpr bool value = true;
};

// The unsigned type integers wrap around in.
template <class T>
struct Wrapping {
  using type = unsigned int;
};
template <>
struct Wrapping<long> {
  using type = unsigned long;
};
template <>
struct Wrapping<long long> {
  using type = unsigned long long;
};
template <class T>
using wrapping = typename Wrapping<T>::type;

COHORT_FN unsigned int bits_of(float x) {
#if defined(__CUDA_ARCH__)
  return __float_as_uint(x);
#else
  return __builtin_bit_cast(unsigned int, x);
#endif
}
COHORT_FN float float_of(unsigned int bits) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(bits);
#else
  return __builtin_bit_cast(float, bits);
#endif
}

// a * b + c, in one rounding where the machine does that at full speed.
COHORT_FN float multiply_add(float a, float b, float c) {
#if defined(__CUDA_ARCH__) || defined(__FP_FAST_FMAF)
  return fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

COHORT_FN float infinity() { return float_of(0x7f800000u); }
COHORT_FN float not_a_number() { return float_of(0x7fc00000u); }
COHORT_FN float with_sign_of(float magnitude, float sign) {
  return float_of((bits_of(magnitude) & 0x7fffffffu) | (bits_of(sign) & 0x80000000u));
}
// condition ? a : b, without a branch the vectoriser would stumble over.
COHORT_FN float select(bool condition, float a, float b) {
  const unsigned int mask = 0u - static_cast<unsigned int>(condition);
  return float_of((bits_of(a) & mask) | (bits_of(b) & ~mask));
}
COHORT_FN float at_most(float limit, float x) { return select(x > limit, limit, x); }
COHORT_FN float at_least(float limit, float x) { return select(x < limit, limit, x); }
COHORT_FN float absolute(float x) { return float_of(bits_of(x) & 0x7fffffffu); }
COHORT_FN double absolute(double x) { return ::fabs(x); }

// e^x = 2^exponent * (1 + fraction). Needs -104 <= x <= 89 or NaN.
struct ExpParts {
  float fraction;
  int exponent;
};
COHORT_FN ExpParts exp_parts(float x) {
  // Adding 1.5 * 2^23 rounds to an integer that can be read off the low bits: no conversion, so NaN does no harm.
  const float magic = 12582912.0f;
  const float shifted = multiply_add(x, 1.44269504f, magic);
  const float n = shifted - magic;
  float r = multiply_add(n, -0.693359375f, x);
  r = multiply_add(n, 2.12194440e-4f, r);
  float p = 0x1.a1a602p-13f;
  p = multiply_add(p, r, 0x1.6d7b94p-10f);
  p = multiply_add(p, r, 0x1.11108cp-7f);
  p = multiply_add(p, r, 0x1.5554a6p-5f);
  p = multiply_add(p, r, 0x1.555556p-3f);
  p = multiply_add(p, r, 0.5f);
  return {multiply_add(r * r, p, r), static_cast<int>(bits_of(shifted) - bits_of(magic))};
}
// 2^n for n in [-126, 127].
COHORT_FN float power_of_two(int n) { return float_of(static_cast<unsigned int>(n + 127) << 23); }

COHORT_FN float exp(float x) {
  const ExpParts parts = exp_parts(at_most(89.0f, at_least(-104.0f, x)));
  // In two steps, so that results below the normal range and above the largest number come out right.
  const int half = parts.exponent >> 1;
  return (1.0f + parts.fraction) * power_of_two(half) * power_of_two(parts.exponent - half);
}

COHORT_FN float expm1(float x) {
  const ExpParts parts = exp_parts(at_most(89.0f, at_least(-25.0f, x)));
  const float half_scale = power_of_two(parts.exponent - 1);
  const float y = 2.0f * multiply_add(half_scale, parts.fraction, half_scale - 0.5f);
  return select(x == 0.0f, x, y);
}

COHORT_FN float log(float x) {
  const bool tiny = x < 1.17549435e-38f;
  const unsigned int bits = bits_of(select(tiny, x * 8388608.0f, x));
  // Splits into 2^e * m with m in [sqrt(1/2), sqrt(2)).
  const int e_bits = static_cast<int>(bits - 0x3f3504f3u) & static_cast<int>(0xff800000u);
  const float e = static_cast<float>(e_bits >> 23) - select(tiny, 23.0f, 0.0f);
  const float f = float_of(bits - static_cast<unsigned int>(e_bits)) - 1.0f;
  float q = 0x1.1b40e4p-4f;
  q = multiply_add(q, f, -0x1.e2e918p-4f);
  q = multiply_add(q, f, 0x1.e6512ep-4f);
  q = multiply_add(q, f, -0x1.fb434ep-4f);
  q = multiply_add(q, f, 0x1.2332b8p-3f);
  q = multiply_add(q, f, -0x1.5562e2p-3f);
  q = multiply_add(q, f, 0x1.99a546p-3f);
  q = multiply_add(q, f, -0x1.ffffeep-3f);
  q = multiply_add(q, f, 0x1.555546p-2f);
  const float square = f * f;
  float y = q * f * square;
  y = multiply_add(e, -2.12194440e-4f, y);
  y = multiply_add(-0.5f, square, y);
  y = multiply_add(e, 0.693359375f, f + y);
  y = select(x == infinity(), x, y);
  return select(x > 0.0f, y, select(x == 0.0f, -infinity(), not_a_number()));
}

COHORT_FN float log1p(float x) {
  const float u = 1.0f + x;
  // What the addition rounded away comes back as the first term of the series around u.
  const float y = log(u) + (x - (u - 1.0f)) / u;
  return select(u == 0.0f, -infinity(), select((u == infinity()) | (x == 0.0f), x, y));
}

COHORT_FN float tanh(float x) {
  const ExpParts parts = exp_parts(2.0f * at_most(10.0f, absolute(x)));
  const float half_scale = power_of_two(parts.exponent - 1);
  const float t = 2.0f * multiply_add(half_scale, parts.fraction, half_scale - 0.5f);
  return with_sign_of(t / (t + 2.0f), x);
}

COHORT_FN float sigmoid(float x) { return 1.0f / (1.0f + exp(-x)); }
COHORT_FN double sigmoid(double x) { return 1.0 / (1.0 + ::exp(-x)); }

// 1 - erf(a) as a power of e, for 1 <= a <= 4.05.
COHORT_FN float erfc_exponent(float a) {
  float q = 0x1.6bd828p-16f;
  q = multiply_add(q, a, -0x1.cec634p-12f);
  q = multiply_add(q, a, 0x1.138cccp-8f);
  q = multiply_add(q, a, -0x1.9d030ep-6f);
  q = multiply_add(q, a, 0x1.bc151ap-4f);
  q = multiply_add(q, a, 0x1.443566p-1f);
  q = multiply_add(q, a, 0x1.212c0ep+0f);
  return multiply_add(q, a, -0x1.8a583ap-13f);
}
COHORT_FN float erf(float x) {
  const float a = absolute(x);
  const float z = x * x;
  float p = 0x1.4ae4c6p-14f;
  p = multiply_add(p, z, -0x1.a485e8p-11f);
  p = multiply_add(p, z, 0x1.5419f4p-8f);
  p = multiply_add(p, z, -0x1.b7fbb4p-6f);
  p = multiply_add(p, z, 0x1.ce2d20p-4f);
  p = multiply_add(p, z, -0x1.81273ep-2f);
  p = multiply_add(p, z, 0x1.06eba8p-3f);
  const float near = multiply_add(p, x, x);
  const float far = 1.0f - exp(-erfc_exponent(at_most(4.0f, a)));
  return select(a < 1.0f, near, with_sign_of(far, x));
}

COHORT_FN float softplus(float x) { return at_least(0.0f, x) + log1p(exp(-absolute(x))); }
COHORT_FN double softplus(double x) { return (x > 0.0 ? x : 0.0) + ::log1p(::exp(-::fabs(x))); }

// The functions of the C library under one name for both precisions.
#define COHORT_DOUBLE_MATH(name) \
  COHORT_FN double name(double x) { return ::name(x); }
#define COHORT_LIBRARY_MATH(name)                        \
  COHORT_FN float name(float x) { return ::name##f(x); } \
  COHORT_DOUBLE_MATH(name)
COHORT_DOUBLE_MATH(exp)
COHORT_DOUBLE_MATH(expm1)
COHORT_DOUBLE_MATH(log)
COHORT_DOUBLE_MATH(log1p)
COHORT_DOUBLE_MATH(tanh)
COHORT_DOUBLE_MATH(erf)
COHORT_LIBRARY_MATH(sqrt)
COHORT_LIBRARY_MATH(log2)
COHORT_LIBRARY_MATH(log10)
COHORT_LIBRARY_MATH(sin)
COHORT_LIBRARY_MATH(cos)
COHORT_LIBRARY_MATH(tan)
COHORT_LIBRARY_MATH(asin)
COHORT_LIBRARY_MATH(acos)
COHORT_LIBRARY_MATH(atan)
COHORT_LIBRARY_MATH(sinh)
COHORT_LIBRARY_MATH(cosh)
COHORT_LIBRARY_MATH(asinh)
COHORT_LIBRARY_MATH(acosh)
COHORT_LIBRARY_MATH(atanh)
COHORT_LIBRARY_MATH(erfc)
COHORT_LIBRARY_MATH(floor)
COHORT_LIBRARY_MATH(ceil)
COHORT_LIBRARY_MATH(trunc)
COHORT_LIBRARY_MATH(rint)
#undef COHORT_LIBRARY_MATH
#undef COHORT_DOUBLE_MATH
COHORT_FN float pow(float a, float b) { return ::powf(a, b); }
COHORT_FN double pow(double a, double b) { return ::pow(a, b); }
COHORT_FN float atan2(float a, float b) { return ::atan2f(a, b); }
COHORT_FN double atan2(double a, double b) { return ::atan2(a, b); }
COHORT_FN float fmod(float a, float b) { return ::fmodf(a, b); }
COHORT_FN double fmod(double a, double b) { return ::fmod(a, b); }

}  // namespace cohort::fn
