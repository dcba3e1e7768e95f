#pragma once

#include "cohort/core/tensor.h"
#include "cohort/ops/broadcast.h"
#include "cohort/ops/cast.h"

namespace cohort::ops {

// Elementwise functions. Operands broadcast as in numpy; different types meet in the type Keras computes in, a C++
// number takes the tensor's type. Functions of the reals turn integers into float32 first.

#define COHORT_UNARY_FUNCTION(name) Tensor name(const Tensor& x)
#define COHORT_BINARY_FUNCTION(name)             \
  Tensor name(const Tensor& a, const Tensor& b); \
  Tensor name(const Tensor& a, double b);        \
  Tensor name(double a, const Tensor& b)

COHORT_BINARY_FUNCTION(add);
COHORT_BINARY_FUNCTION(subtract);
COHORT_BINARY_FUNCTION(multiply);
COHORT_BINARY_FUNCTION(divide);        // true division: integers give float32
COHORT_BINARY_FUNCTION(floor_divide);  // rounds towards minus infinity
COHORT_BINARY_FUNCTION(mod);           // the remainder has the divisor's sign
COHORT_BINARY_FUNCTION(pow);
COHORT_BINARY_FUNCTION(maximum);
COHORT_BINARY_FUNCTION(minimum);
COHORT_BINARY_FUNCTION(squared_difference);
COHORT_BINARY_FUNCTION(atan2);

COHORT_BINARY_FUNCTION(equal);
COHORT_BINARY_FUNCTION(not_equal);
COHORT_BINARY_FUNCTION(less);
COHORT_BINARY_FUNCTION(less_equal);
COHORT_BINARY_FUNCTION(greater);
COHORT_BINARY_FUNCTION(greater_equal);
COHORT_BINARY_FUNCTION(logical_and);  // of numbers: not zero is true
COHORT_BINARY_FUNCTION(logical_or);
COHORT_BINARY_FUNCTION(logical_xor);
COHORT_UNARY_FUNCTION(logical_not);

COHORT_UNARY_FUNCTION(negative);
COHORT_UNARY_FUNCTION(abs);
COHORT_UNARY_FUNCTION(sign);
COHORT_UNARY_FUNCTION(square);
COHORT_UNARY_FUNCTION(sqrt);
COHORT_UNARY_FUNCTION(rsqrt);  // 1 / sqrt(x)
COHORT_UNARY_FUNCTION(reciprocal);
COHORT_UNARY_FUNCTION(exp);
COHORT_UNARY_FUNCTION(expm1);
COHORT_UNARY_FUNCTION(log);
COHORT_UNARY_FUNCTION(log1p);
COHORT_UNARY_FUNCTION(log2);
COHORT_UNARY_FUNCTION(log10);
COHORT_UNARY_FUNCTION(sin);
COHORT_UNARY_FUNCTION(cos);
COHORT_UNARY_FUNCTION(tan);
COHORT_UNARY_FUNCTION(asin);
COHORT_UNARY_FUNCTION(acos);
COHORT_UNARY_FUNCTION(atan);
COHORT_UNARY_FUNCTION(sinh);
COHORT_UNARY_FUNCTION(cosh);
COHORT_UNARY_FUNCTION(tanh);
COHORT_UNARY_FUNCTION(asinh);
COHORT_UNARY_FUNCTION(acosh);
COHORT_UNARY_FUNCTION(atanh);
COHORT_UNARY_FUNCTION(erf);
COHORT_UNARY_FUNCTION(erfc);
COHORT_UNARY_FUNCTION(floor);
COHORT_UNARY_FUNCTION(ceil);
COHORT_UNARY_FUNCTION(round);  // half to even
COHORT_UNARY_FUNCTION(trunc);
COHORT_UNARY_FUNCTION(is_nan);
COHORT_UNARY_FUNCTION(is_inf);
COHORT_UNARY_FUNCTION(is_finite);

COHORT_UNARY_FUNCTION(sigmoid);
COHORT_UNARY_FUNCTION(softplus);
COHORT_UNARY_FUNCTION(relu);
COHORT_UNARY_FUNCTION(relu6);
// Gradients from what flows back (a) and the activation's output (b).
COHORT_BINARY_FUNCTION(relu_grad);
COHORT_BINARY_FUNCTION(sigmoid_grad);
COHORT_BINARY_FUNCTION(tanh_grad);

#undef COHORT_UNARY_FUNCTION
#undef COHORT_BINARY_FUNCTION

// condition ? a : b, element by element; all three broadcast.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, double b);
Tensor where(const Tensor& condition, double a, const Tensor& b);
// x held within [minimum, maximum].
Tensor clip(const Tensor& x, double minimum, double maximum);
Tensor clip(const Tensor& x, const Tensor& minimum, const Tensor& maximum);

}  // namespace cohort::ops

namespace cohort {

Tensor operator-(const Tensor& x);
Tensor operator!(const Tensor& x);

#define COHORT_OPERATOR(symbol)                             \
  Tensor operator symbol(const Tensor& a, const Tensor& b); \
  Tensor operator symbol(const Tensor& a, double b);        \
  Tensor operator symbol(double a, const Tensor& b)
COHORT_OPERATOR(+);
COHORT_OPERATOR(-);
COHORT_OPERATOR(*);
COHORT_OPERATOR(/);
COHORT_OPERATOR(<);
COHORT_OPERATOR(<=);
COHORT_OPERATOR(>);
COHORT_OPERATOR(>=);
#undef COHORT_OPERATOR

}  // namespace cohort
