#include "cohort/ops/functions.h"

#include <cmath>
#include <numbers>

#include "cohort/ops/array.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/math.h"

namespace cohort::ops {
namespace {

// The type that some functions of two numbers compute in: wide enough for all integers of theirs.
DType floating_of(const Tensor& x1, const Tensor& x2) {
  const DType dtype = promote(x1.dtype(), x2.dtype());
  return is_floating(dtype) ? dtype : dtype == DType::Int64 ? DType::Float64 : DType::Float32;
}

}  // namespace

Tensor fabs(const Tensor& x) { return abs(to_floating(x)); }
Tensor cbrt(const Tensor& x) { return sign(to_floating(x)) * pow(fabs(x), 1.0 / 3.0); }
Tensor exp2(const Tensor& x) { return exp(to_floating(x) * std::numbers::ln2); }
Tensor deg2rad(const Tensor& x) { return to_floating(x) * (std::numbers::pi / 180.0); }
Tensor rad2deg(const Tensor& x) { return to_floating(x) * (180.0 / std::numbers::pi); }

Tensor sinc(const Tensor& x) {
  const Tensor angle = to_floating(x), at_zero = equal(angle, 0.0);
  const Tensor safe = where(at_zero, ones_like(angle), angle) * std::numbers::pi;
  return where(at_zero, ones_like(angle), sin(safe) / safe);
}

Tensor isposinf(const Tensor& x) { return equal(to_floating(x), INFINITY); }
Tensor isneginf(const Tensor& x) { return equal(to_floating(x), -INFINITY); }
Tensor real(const Tensor& x) { return copy(x); }
Tensor conj(const Tensor& x) { return copy(x); }
Tensor conjugate(const Tensor& x) { return copy(x); }

// Scaled by the larger operand, so that no square overflows. The result does not depend on the scale, nor does the
// gradient, which is 0 where both operands are.
Tensor hypot(const Tensor& x1, const Tensor& x2) {
  const DType dtype = floating_of(x1, x2);
  const Tensor a = cast(x1, dtype), b = cast(x2, dtype), larger = stop_gradient(maximum(abs(a), abs(b)));
  const Tensor is_zero = equal(larger, 0.0);
  const Tensor scale = where(logical_or(is_zero, equal(larger, INFINITY)), 1.0, larger);
  const Tensor squares = square(a / scale) + square(b / scale);
  return where(is_zero, 0.0, scale * sqrt(where(is_zero, 1.0, squares)));
}

// Equal infinities stay what they are.
Tensor logaddexp(const Tensor& x1, const Tensor& x2) {
  const Tensor a = to_floating(x1), b = to_floating(x2), difference = a - b;
  return where(is_nan(difference), a + b, maximum(a, b) + log1p(exp(-abs(difference))));
}
Tensor logaddexp2(const Tensor& x1, const Tensor& x2) {
  const Tensor a = to_floating(x1) * std::numbers::ln2, b = to_floating(x2) * std::numbers::ln2;
  return logaddexp(a, b) * (1.0 / std::numbers::ln2);
}

Tensor heaviside(const Tensor& x1, const Tensor& x2) {
  const DType dtype = floating_of(x1, x2);
  const Tensor a = cast(x1, dtype), b = cast(x2, dtype);
  return where(less(a, 0.0), 0.0, where(greater(a, 0.0), 1.0, b));
}

Tensor divide_no_nan(const Tensor& x1, const Tensor& x2) {
  const Tensor is_zero = equal(x2, 0.0);
  return where(is_zero, 0.0, x1 / where(is_zero, 1.0, x2));
}

Tensor fmax(const Tensor& x1, const Tensor& x2) {
  return where(is_nan(x1), x2, where(is_nan(x2), x1, maximum(x1, x2)));
}
Tensor fmin(const Tensor& x1, const Tensor& x2) {
  return where(is_nan(x1), x2, where(is_nan(x2), x1, minimum(x1, x2)));
}
Tensor fmod(const Tensor& x1, const Tensor& x2) { return sign(x1) * mod(abs(x1), abs(x2)); }

Tensor isclose(const Tensor& x1, const Tensor& x2, double rtol, double atol, bool equal_nan) {
  if (!is_floating(promote(x1.dtype(), x2.dtype()))) return equal(x1, x2);
  const Tensor close = less_equal(abs(x1 - x2), rtol * abs(to_floating(x2)) + atol);
  return equal_nan ? logical_or(close, logical_and(is_nan(x1), is_nan(x2))) : close;
}

namespace {

double largest_of(DType dtype) {
  switch (dtype) {
    case DType::Float64:
      return 1.7976931348623157e308;
    case DType::Float16:
      return 65504.0;
    case DType::BFloat16:
      return 3.3895313892515355e38;
    default:
      return 3.4028234663852886e38;
  }
}

}  // namespace

Tensor nan_to_num(const Tensor& x, double nan, std::optional<double> posinf, std::optional<double> neginf) {
  if (!is_floating(x.dtype())) return x;
  const double largest = largest_of(x.dtype());
  Tensor result = where(is_nan(x), full_like(x, nan), x);
  result = where(isposinf(result), full_like(x, posinf.value_or(largest)), result);
  return where(isneginf(result), full_like(x, neginf.value_or(-largest)), result);
}

Tensor saturate_cast(const Tensor& x, DType dtype) {
  const bool wide = is_floating(x.dtype()) || x.dtype() == DType::Int32 || x.dtype() == DType::Int64;
  switch (dtype) {
    case DType::UInt8:
      return cast(wide ? clip(x, 0, 255) : x.dtype() == DType::Int8 ? maximum(x, 0.0) : x, dtype);
    case DType::Int8:
      return cast(wide ? clip(x, -128, 127) : x.dtype() == DType::UInt8 ? minimum(x, 127.0) : x, dtype);
    case DType::Int32:
      // Narrower floats do not hold the bounds.
      if (is_floating(x.dtype())) return cast(clip(cast(x, DType::Float64), INT32_MIN, INT32_MAX), dtype);
      return cast(x.dtype() == DType::Int64 ? clip(x, INT32_MIN, INT32_MAX) : x, dtype);
    case DType::Int64:
      // The largest double below 2^63.
      return cast(is_floating(x.dtype()) ? clip(cast(x, DType::Float64), -0x1p63, 0x1p63 - 1024) : x, dtype);
    default:
      return cast(x, dtype);
  }
}

Tensor select(const Tensors& condlist, const Tensors& choicelist, const Tensor& otherwise) {
  if (condlist.size() != choicelist.size() || condlist.empty()) {
    throw invalid_argument("select", "a choice for each condition is expected",
                           {{"conditions", condlist.size()}, {"choices", choicelist.size()}});
  }
  Tensor result = otherwise;
  for (std::size_t i = condlist.size(); i-- > 0;) result = where(condlist[i], choicelist[i], result);
  return result;
}
Tensor select(const Tensors& condlist, const Tensors& choicelist, double otherwise) {
  if (choicelist.empty()) return select(condlist, choicelist, Tensor());
  return select(condlist, choicelist, scalar_like(choicelist[0], otherwise));
}

}  // namespace cohort::ops
