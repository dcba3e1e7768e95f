#pragma once

// One functor per elementwise op and the table that lists them all. The op definitions, the kernels of every device and
// the fuser are instantiated from the table; 16-bit floats reach a functor as float.
#include "cohort/kernels/scalar_math.h"

namespace cohort::fn {

// Which element types an op takes.
enum class Types {
  Float,   // floating
  Number,  // floating or integer
  Bool,    // bool alone
  All,     // everything plain
};

#define COHORT_UNARY(Name, expression)   \
  struct Name {                          \
    template <class T>                   \
    COHORT_FN T operator()(T x) const {  \
      return static_cast<T>(expression); \
    }                                    \
  };
#define COHORT_BINARY(Name, expression)      \
  struct Name {                              \
    template <class T>                       \
    COHORT_FN T operator()(T a, T b) const { \
      return static_cast<T>(expression);     \
    }                                        \
  };
#define COHORT_TEST(Name, expression)      \
  struct Name {                            \
    template <class T>                     \
    COHORT_FN bool operator()(T x) const { \
      return expression;                   \
    }                                      \
  };
#define COHORT_COMPARE(Name, expression)        \
  struct Name {                                 \
    template <class T>                          \
    COHORT_FN bool operator()(T a, T b) const { \
      return expression;                        \
    }                                           \
  };

// Integer arithmetic wraps around.
#define COHORT_ARITHMETIC(Name, symbol)                                                        \
  struct Name {                                                                                \
    template <class T>                                                                         \
    COHORT_FN T operator()(T a, T b) const {                                                   \
      if constexpr (IsFloat<T>::value) {                                                       \
        return a symbol b;                                                                     \
      } else {                                                                                 \
        return static_cast<T>(static_cast<wrapping<T>>(a) symbol static_cast<wrapping<T>>(b)); \
      }                                                                                        \
    }                                                                                          \
  };
COHORT_ARITHMETIC(Add, +)
COHORT_ARITHMETIC(Subtract, -)
COHORT_ARITHMETIC(Multiply, *)
COHORT_BINARY(Divide, a / b)
COHORT_BINARY(SquaredDifference, Multiply{}(Subtract{}(a, b), Subtract{}(a, b)))

template <class T>
COHORT_FN bool is_minus_one(T x) {
  return x < 0 && x == static_cast<T>(-1);
}
// Rounds towards minus infinity; an integer divided by zero is zero.
struct FloorDivide {
  template <class T>
  COHORT_FN T operator()(T a, T b) const {
    if constexpr (IsFloat<T>::value) {
      return fn::floor(a / b);
    } else {
      if (b == 0) return 0;
      if (is_minus_one(b)) return Subtract{}(T{0}, a);  // also when the quotient does not fit
      const T quotient = static_cast<T>(a / b);
      return static_cast<T>(quotient - ((a % b != 0) & ((a < 0) != (b < 0))));
    }
  }
};
// The remainder has the divisor's sign, as in Python.
struct Mod {
  template <class T>
  COHORT_FN T operator()(T a, T b) const {
    if constexpr (IsFloat<T>::value) {
      const T remainder = fn::fmod(a, b);
      return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
    } else {
      if (b == 0 || is_minus_one(b)) return 0;
      const T remainder = static_cast<T>(a % b);
      return static_cast<T>(remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder);
    }
  }
};
// An integer to a negative power is what is left of the fraction: zero unless the base is 1 or -1.
struct Pow {
  template <class T>
  COHORT_FN T operator()(T a, T b) const {
    if constexpr (IsFloat<T>::value) {
      return b == T{2} ? a * a : fn::pow(a, b);  // by far the most common power
    } else {
      if (b < 0) return static_cast<T>(a == 1 ? 1 : is_minus_one(a) ? (b % 2 != 0 ? -1 : 1) : 0);
      T result = 1;
      for (; b > 0; b = static_cast<T>(b / 2)) {
        if (b % 2 != 0) result = Multiply{}(result, a);
        a = Multiply{}(a, a);
      }
      return result;
    }
  }
};
// NaN wins on either side.
COHORT_BINARY(Maximum, (a >= b) | (a != a) ? a : b)
COHORT_BINARY(Minimum, (a <= b) | (a != a) ? a : b)
COHORT_BINARY(Atan2, fn::atan2(a, b))

struct Negative {
  template <class T>
  COHORT_FN T operator()(T x) const {
    if constexpr (IsFloat<T>::value) {
      return -x;
    } else {
      return Subtract{}(T{0}, x);
    }
  }
};
struct Abs {
  template <class T>
  COHORT_FN T operator()(T x) const {
    if constexpr (IsFloat<T>::value) {
      return fn::absolute(x);
    } else {
      return x < 0 ? Subtract{}(T{0}, x) : x;
    }
  }
};
COHORT_UNARY(Sign, x != x ? x : static_cast<T>((x > 0) - (x < 0)))
COHORT_UNARY(Square, Multiply{}(x, x))
COHORT_UNARY(Sqrt, fn::sqrt(x))
COHORT_UNARY(Rsqrt, T{1} / fn::sqrt(x))
COHORT_UNARY(Reciprocal, T{1} / x)
COHORT_UNARY(Exp, fn::exp(x))
COHORT_UNARY(Expm1, fn::expm1(x))
COHORT_UNARY(Log, fn::log(x))
COHORT_UNARY(Log1p, fn::log1p(x))
COHORT_UNARY(Log2, fn::log2(x))
COHORT_UNARY(Log10, fn::log10(x))
COHORT_UNARY(Sin, fn::sin(x))
COHORT_UNARY(Cos, fn::cos(x))
COHORT_UNARY(Tan, fn::tan(x))
COHORT_UNARY(Asin, fn::asin(x))
COHORT_UNARY(Acos, fn::acos(x))
COHORT_UNARY(Atan, fn::atan(x))
COHORT_UNARY(Sinh, fn::sinh(x))
COHORT_UNARY(Cosh, fn::cosh(x))
COHORT_UNARY(Tanh, fn::tanh(x))
COHORT_UNARY(Asinh, fn::asinh(x))
COHORT_UNARY(Acosh, fn::acosh(x))
COHORT_UNARY(Atanh, fn::atanh(x))
COHORT_UNARY(Erf, fn::erf(x))
COHORT_UNARY(Erfc, fn::erfc(x))
COHORT_UNARY(Floor, fn::floor(x))
COHORT_UNARY(Ceil, fn::ceil(x))
struct Round {  // half to even
  template <class T>
  COHORT_FN T operator()(T x) const {
    if constexpr (IsFloat<T>::value) {
      return fn::rint(x);
    } else {
      return x;
    }
  }
};
COHORT_UNARY(Trunc, fn::trunc(x))
COHORT_UNARY(Sigmoid, fn::sigmoid(x))
COHORT_UNARY(Softplus, fn::softplus(x))
COHORT_UNARY(Relu, (x > 0) | (x != x) ? x : T{0})
COHORT_UNARY(Relu6, (x > 0) | (x != x) ? (x > 6 ? T{6} : x) : T{0})

// Gradients of activations from what flows back (a) and the activation's output (b).
COHORT_BINARY(ReluGrad, b > 0 ? a : T{0})
COHORT_BINARY(SigmoidGrad, a* b*(T{1} - b))
COHORT_BINARY(TanhGrad, a*(T{1} - b * b))

COHORT_TEST(IsNan, x != x)
COHORT_TEST(IsInf, (x == x) & (x - x != x - x))
COHORT_TEST(IsFinite, x - x == x - x)
COHORT_TEST(LogicalNot, !x)

COHORT_COMPARE(Equal, a == b)
COHORT_COMPARE(NotEqual, a != b)
COHORT_COMPARE(Less, a < b)
COHORT_COMPARE(LessEqual, a <= b)
COHORT_COMPARE(Greater, a > b)
COHORT_COMPARE(GreaterEqual, a >= b)
COHORT_COMPARE(LogicalAnd, a& b)
COHORT_COMPARE(LogicalOr, a | b)
COHORT_COMPARE(LogicalXor, a != b)

struct Select {
  template <class T>
  COHORT_FN T operator()(bool condition, T a, T b) const {
    return condition ? a : b;
  }
};

#undef COHORT_UNARY
#undef COHORT_BINARY
#undef COHORT_TEST
#undef COHORT_COMPARE
#undef COHORT_ARITHMETIC

}  // namespace cohort::fn

// The table: X(op and functor, C++ function, element types, module and name of Keras's operation, gradients).
// Definitions, kernels, gradients, the functions of symbols and the operations that files hold come from it. Gradients
// are in terms of the operands x (or a and b), the result y and what flows back, dy; kinks are where TensorFlow has
// them. An op without any has none; one of two operands has one for each. The formatter takes the products for
// pointers.
// clang-format off
#define COHORT_UNARY_FUNCTORS(X) \
  X(Negative, negative, Number, numpy, Negative, -dy) \
  X(Abs, abs, Number, numpy, Absolute, dy * sign(x)) \
  X(Sign, sign, Number, numpy, Sign) \
  X(Square, square, Number, numpy, Square, dy * (x * 2.0)) \
  X(Sqrt, sqrt, Float, numpy, Sqrt, dy * 0.5 / y) \
  X(Rsqrt, rsqrt, Float, math, Rsqrt, dy * (-0.5 * y * y * y)) \
  X(Reciprocal, reciprocal, Float, numpy, Reciprocal, -dy * y * y) \
  X(Exp, exp, Float, numpy, Exp, dy * y) \
  X(Expm1, expm1, Float, numpy, Expm1, dy * (y + 1.0)) \
  X(Log, log, Float, numpy, Log, dy / x) \
  X(Log1p, log1p, Float, numpy, Log1p, dy / (x + 1.0)) \
  X(Log2, log2, Float, numpy, Log2, dy / (x * 0.69314718055994531)) \
  X(Log10, log10, Float, numpy, Log10, dy / (x * 2.3025850929940457)) \
  X(Sin, sin, Float, numpy, Sin, dy * cos(x)) \
  X(Cos, cos, Float, numpy, Cos, -dy * sin(x)) \
  X(Tan, tan, Float, numpy, Tan, dy * (square(y) + 1.0)) \
  X(Asin, asin, Float, numpy, Arcsin, dy * rsqrt(1.0 - square(x))) \
  X(Acos, acos, Float, numpy, Arccos, -dy * rsqrt(1.0 - square(x))) \
  X(Atan, atan, Float, numpy, Arctan, dy / (square(x) + 1.0)) \
  X(Sinh, sinh, Float, numpy, Sinh, dy * cosh(x)) \
  X(Cosh, cosh, Float, numpy, Cosh, dy * sinh(x)) \
  X(Tanh, tanh, Float, numpy, Tanh, tanh_grad(dy, y)) \
  X(Asinh, asinh, Float, numpy, Arcsinh, dy * rsqrt(square(x) + 1.0)) \
  X(Acosh, acosh, Float, numpy, Arccosh, dy / sinh(y)) \
  X(Atanh, atanh, Float, numpy, Arctanh, dy / (1.0 - square(x))) \
  X(Erf, erf, Float, math, Erf, dy * (exp(-square(x)) * 1.1283791670955126)) \
  X(Erfc, erfc, Float, math, Erfc, dy * (exp(-square(x)) * -1.1283791670955126)) \
  X(Floor, floor, Float, numpy, Floor) \
  X(Ceil, ceil, Float, numpy, Ceil) \
  X(Round, round, Number, none, none) \
  X(Trunc, trunc, Float, numpy, Trunc) \
  X(Sigmoid, sigmoid, Float, nn, Sigmoid, sigmoid_grad(dy, y)) \
  X(Softplus, softplus, Float, nn, Softplus, dy * sigmoid(x)) \
  X(Relu, relu, Number, nn, Relu, relu_grad(dy, y)) \
  X(Relu6, relu6, Number, nn, Relu6, where(logical_and(x > 0.0, x < 6.0), dy, 0.0))

#define COHORT_BINARY_FUNCTORS(X) \
  X(Add, add, Number, numpy, Add, dy, dy) \
  X(Subtract, subtract, Number, numpy, Subtract, dy, -dy) \
  X(Multiply, multiply, Number, numpy, Multiply, dy * b, dy * a) \
  X(Divide, divide, Float, numpy, TrueDivide, dy / b, -dy * y / b) \
  X(FloorDivide, floor_divide, Number, numpy, FloorDivide) \
  X(Mod, mod, Number, numpy, Mod, dy, -dy * floor(a / b)) \
  /* The logarithm of what is not positive is left out: its power with a real exponent is not defined. */ \
  X(Pow, pow, Number, numpy, Power, \
    dy * b * pow(a, b - 1.0), dy * y * where(a > 0.0, log(where(a > 0.0, a, 1.0)), 0.0)) \
  X(Maximum, maximum, Number, numpy, Maximum, where(a >= b, dy, 0.0), where(a >= b, 0.0, dy)) \
  X(Minimum, minimum, Number, numpy, Minimum, where(a <= b, dy, 0.0), where(a <= b, 0.0, dy)) \
  X(SquaredDifference, squared_difference, Number, none, none, dy * ((a - b) * 2.0), dy * ((b - a) * 2.0)) \
  X(Atan2, atan2, Float, numpy, Arctan2, dy * (b / (square(a) + square(b))), -dy * (a / (square(a) + square(b)))) \
  X(ReluGrad, relu_grad, Number, none, none, relu_grad(dy, b), Tensor()) \
  X(SigmoidGrad, sigmoid_grad, Float, none, none, sigmoid_grad(dy, b), dy * a * (1.0 - b * 2.0)) \
  X(TanhGrad, tanh_grad, Float, none, none, tanh_grad(dy, b), dy * a * (b * -2.0))

// Those whose result is bool.
#define COHORT_UNARY_TESTS(X) \
  X(IsNan, is_nan, Float, numpy, Isnan) \
  X(IsInf, is_inf, Float, numpy, Isinf) \
  X(IsFinite, is_finite, Float, numpy, Isfinite) \
  X(LogicalNot, logical_not, Bool, numpy, LogicalNot)

#define COHORT_BINARY_TESTS(X) \
  X(Equal, equal, All, numpy, Equal) \
  X(NotEqual, not_equal, All, numpy, NotEqual) \
  X(Less, less, All, numpy, Less) \
  X(LessEqual, less_equal, All, numpy, LessEqual) \
  X(Greater, greater, All, numpy, Greater) \
  X(GreaterEqual, greater_equal, All, numpy, GreaterEqual) \
  X(LogicalAnd, logical_and, Bool, numpy, LogicalAnd) \
  X(LogicalOr, logical_or, Bool, numpy, LogicalOr) \
  X(LogicalXor, logical_xor, Bool, numpy, LogicalXor)
// clang-format on
