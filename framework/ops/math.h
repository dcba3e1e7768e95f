#pragma once

#include "cohort/core/tensor.h"
#include "cohort/ops/broadcast.h"
#include "cohort/ops/cast.h"

namespace cohort {
// Of functional models: model/symbols/symbolic_tensor.h.
class SymbolicTensor;
class SymbolicOperand;
}  // namespace cohort

namespace cohort::ops {

// Elementwise functions. Operands broadcast as in numpy; different types meet in the type Keras computes in, a C++
// number takes the tensor's type. Functions of the reals turn integers into float32 first. On symbols each becomes a
// step of a functional model, which Keras reads as its own operation.

#define COHORT_UNARY_TENSOR_FUNCTION(name) Tensor name(const Tensor& x)
#define COHORT_BINARY_TENSOR_FUNCTION(name)      \
  Tensor name(const Tensor& a, const Tensor& b); \
  Tensor name(const Tensor& a, double b);        \
  Tensor name(double a, const Tensor& b)
#define COHORT_UNARY_FUNCTION(name)   \
  COHORT_UNARY_TENSOR_FUNCTION(name); \
  SymbolicTensor name(const SymbolicTensor& x)
#define COHORT_BINARY_FUNCTION(name)                                      \
  COHORT_BINARY_TENSOR_FUNCTION(name);                                    \
  SymbolicTensor name(const SymbolicTensor& a, const SymbolicTensor& b);  \
  SymbolicTensor name(const SymbolicTensor& a, const SymbolicOperand& b); \
  SymbolicTensor name(const SymbolicOperand& a, const SymbolicTensor& b)

// a + b.
COHORT_BINARY_FUNCTION(add);
// a - b.
COHORT_BINARY_FUNCTION(subtract);
// a * b.
COHORT_BINARY_FUNCTION(multiply);
// a / b, true division: integers give float32.
COHORT_BINARY_FUNCTION(divide);
// a / b, rounded towards minus infinity.
COHORT_BINARY_FUNCTION(floor_divide);
// The remainder of a / b, with the divisor's sign.
COHORT_BINARY_FUNCTION(mod);
// a to the power b.
COHORT_BINARY_FUNCTION(pow);
// The larger of a and b.
COHORT_BINARY_FUNCTION(maximum);
// The smaller of a and b.
COHORT_BINARY_FUNCTION(minimum);
// (a - b)^2.
COHORT_BINARY_TENSOR_FUNCTION(squared_difference);
// The angle of the point (b, a), in (-pi, pi].
COHORT_BINARY_FUNCTION(atan2);

// a == b, as bool.
COHORT_BINARY_FUNCTION(equal);
// a != b, as bool.
COHORT_BINARY_FUNCTION(not_equal);
// a < b, as bool.
COHORT_BINARY_FUNCTION(less);
// a <= b, as bool.
COHORT_BINARY_FUNCTION(less_equal);
// a > b, as bool.
COHORT_BINARY_FUNCTION(greater);
// a >= b, as bool.
COHORT_BINARY_FUNCTION(greater_equal);
// True where both are; of numbers, what is not zero is true.
COHORT_BINARY_FUNCTION(logical_and);
// True where one at least is.
COHORT_BINARY_FUNCTION(logical_or);
// True where exactly one is.
COHORT_BINARY_FUNCTION(logical_xor);
// True where x is false, or zero.
COHORT_UNARY_FUNCTION(logical_not);

// -x.
COHORT_UNARY_FUNCTION(negative);
// The magnitude of x.
COHORT_UNARY_FUNCTION(abs);
// -1, 0 or 1.
COHORT_UNARY_FUNCTION(sign);
// x^2.
COHORT_UNARY_FUNCTION(square);
// The square root of x.
COHORT_UNARY_FUNCTION(sqrt);
// 1 / sqrt(x).
COHORT_UNARY_FUNCTION(rsqrt);
// 1 / x.
COHORT_UNARY_FUNCTION(reciprocal);
// e^x.
COHORT_UNARY_FUNCTION(exp);
// e^x - 1, exact near zero.
COHORT_UNARY_FUNCTION(expm1);
// The natural logarithm of x.
COHORT_UNARY_FUNCTION(log);
// log(1 + x), exact near zero.
COHORT_UNARY_FUNCTION(log1p);
// The logarithm of x to base 2.
COHORT_UNARY_FUNCTION(log2);
// The logarithm of x to base 10.
COHORT_UNARY_FUNCTION(log10);
// The sine of x, in radians.
COHORT_UNARY_FUNCTION(sin);
// The cosine of x, in radians.
COHORT_UNARY_FUNCTION(cos);
// The tangent of x, in radians.
COHORT_UNARY_FUNCTION(tan);
// The angle whose sine is x, in [-pi/2, pi/2].
COHORT_UNARY_FUNCTION(asin);
// The angle whose cosine is x, in [0, pi].
COHORT_UNARY_FUNCTION(acos);
// The angle whose tangent is x, in (-pi/2, pi/2).
COHORT_UNARY_FUNCTION(atan);
// The hyperbolic sine of x.
COHORT_UNARY_FUNCTION(sinh);
// The hyperbolic cosine of x.
COHORT_UNARY_FUNCTION(cosh);
// The hyperbolic tangent of x.
COHORT_UNARY_FUNCTION(tanh);
// The inverse of sinh.
COHORT_UNARY_FUNCTION(asinh);
// The inverse of cosh.
COHORT_UNARY_FUNCTION(acosh);
// The inverse of tanh.
COHORT_UNARY_FUNCTION(atanh);
// The error function of x.
COHORT_UNARY_FUNCTION(erf);
// 1 - erf(x), exact for large x.
COHORT_UNARY_FUNCTION(erfc);
// x rounded down.
COHORT_UNARY_FUNCTION(floor);
// x rounded up.
COHORT_UNARY_FUNCTION(ceil);
// x rounded to the nearest whole number, half to even.
COHORT_UNARY_TENSOR_FUNCTION(round);
// x rounded towards zero.
COHORT_UNARY_FUNCTION(trunc);
// True where x is NaN.
COHORT_UNARY_FUNCTION(is_nan);
// True where x is infinite.
COHORT_UNARY_FUNCTION(is_inf);
// True where x is neither NaN nor infinite.
COHORT_UNARY_FUNCTION(is_finite);

// 1 / (1 + exp(-x)).
COHORT_UNARY_FUNCTION(sigmoid);
// log(exp(x) + 1).
COHORT_UNARY_FUNCTION(softplus);
// max(x, 0).
COHORT_UNARY_FUNCTION(relu);
// min(max(x, 0), 6).
COHORT_UNARY_FUNCTION(relu6);
// Gradient of relu, from what flows back (a) and relu's output (b).
COHORT_BINARY_TENSOR_FUNCTION(relu_grad);
// Gradient of sigmoid, from what flows back (a) and sigmoid's output (b).
COHORT_BINARY_TENSOR_FUNCTION(sigmoid_grad);
// Gradient of tanh, from what flows back (a) and tanh's output (b).
COHORT_BINARY_TENSOR_FUNCTION(tanh_grad);

#undef COHORT_UNARY_FUNCTION
#undef COHORT_BINARY_FUNCTION
#undef COHORT_UNARY_TENSOR_FUNCTION
#undef COHORT_BINARY_TENSOR_FUNCTION

// Rounded to that many digits behind the point, or, where negative, in front of it; integers stay integers.
Tensor round(const Tensor& x, int decimals);

// condition ? a : b, element by element; all three broadcast.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, double b);
Tensor where(const Tensor& condition, double a, const Tensor& b);
// x held within [minimum, maximum].
Tensor clip(const Tensor& x, double minimum, double maximum);
Tensor clip(const Tensor& x, const Tensor& minimum, const Tensor& maximum);

}  // namespace cohort::ops

namespace cohort {

// Minus x, element by element.
Tensor operator-(const Tensor& x);
// ops::logical_not.
Tensor operator!(const Tensor& x);

#define COHORT_OPERATOR(symbol)                             \
  Tensor operator symbol(const Tensor& a, const Tensor& b); \
  Tensor operator symbol(const Tensor& a, double b);        \
  Tensor operator symbol(double a, const Tensor& b)
// ops::add.
COHORT_OPERATOR(+);
// ops::subtract.
COHORT_OPERATOR(-);
// ops::multiply.
COHORT_OPERATOR(*);
// ops::divide.
COHORT_OPERATOR(/);
// ops::less.
COHORT_OPERATOR(<);
// ops::less_equal.
COHORT_OPERATOR(<=);
// ops::greater.
COHORT_OPERATOR(>);
// ops::greater_equal.
COHORT_OPERATOR(>=);
#undef COHORT_OPERATOR

}  // namespace cohort
