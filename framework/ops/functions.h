#pragma once

#include <optional>

#include "cohort/core/tensor.h"

namespace cohort::ops {

// Elementwise functions that are made of others; operands broadcast.

// The absolute value as a floating number.
Tensor fabs(const Tensor& x);
// The cube root.
Tensor cbrt(const Tensor& x);
// 2 to the power of x.
Tensor exp2(const Tensor& x);
// Degrees to radians.
Tensor deg2rad(const Tensor& x);
// Radians to degrees.
Tensor rad2deg(const Tensor& x);
// sin(pi x) / (pi x), 1 at zero.
Tensor sinc(const Tensor& x);
// Whether an element is plus infinity.
Tensor isposinf(const Tensor& x);
// Whether an element is minus infinity.
Tensor isneginf(const Tensor& x);
// The real part, and the conjugate: of real numbers these are the numbers themselves.
Tensor real(const Tensor& x);
Tensor conj(const Tensor& x);
Tensor conjugate(const Tensor& x);

// sqrt(x1^2 + x2^2) without overflow; integers give floats.
Tensor hypot(const Tensor& x1, const Tensor& x2);
// log(e^x1 + e^x2) without overflow.
Tensor logaddexp(const Tensor& x1, const Tensor& x2);
// log2(2^x1 + 2^x2) without overflow.
Tensor logaddexp2(const Tensor& x1, const Tensor& x2);
// 0 where x1 is negative, 1 where it is positive, x2 elsewhere; integers give floats.
Tensor heaviside(const Tensor& x1, const Tensor& x2);
// x1 / x2, but 0 where x2 is 0; no gradient flows there.
Tensor divide_no_nan(const Tensor& x1, const Tensor& x2);
// The larger one, or the smaller one; what is not a number gives way to the other operand.
Tensor fmax(const Tensor& x1, const Tensor& x2);
Tensor fmin(const Tensor& x1, const Tensor& x2);
// The remainder with the sign of x1, as C's fmod; integers stay integers.
Tensor fmod(const Tensor& x1, const Tensor& x2);
// Whether |x1 - x2| <= atol + rtol * |x2|, which is false of equal infinities; for integers, whether x1 == x2. With
// `equal_nan` two NaN are close, too.
Tensor isclose(const Tensor& x1, const Tensor& x2, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);

// x with numbers in the place of NaN and of both infinities; none: the largest and smallest finite ones of the type.
Tensor nan_to_num(const Tensor& x, double nan = 0.0, std::optional<double> posinf = std::nullopt,
                  std::optional<double> neginf = std::nullopt);
// x as another type, held within what that type can hold.
Tensor saturate_cast(const Tensor& x, DType dtype);
// For each element the choice of the first condition that is true there, else `otherwise`.
Tensor select(const Tensors& condlist, const Tensors& choicelist, const Tensor& otherwise);
Tensor select(const Tensors& condlist, const Tensors& choicelist, double otherwise = 0.0);

}  // namespace cohort::ops
