#include "cohort/ops/math.h"

#include "cohort/core/dispatch.h"
#include "cohort/ops/elementwise_rules.h"

namespace cohort::ops {
namespace {

// One definition per row of the functor table, reachable as op_Name.
#define COHORT_ROW(Name, function, types) OpDef& op_##Name = define_unary(#Name, fn::Types::types, false);
COHORT_UNARY_FUNCTORS(COHORT_ROW)
#undef COHORT_ROW
#define COHORT_ROW(Name, function, types) OpDef& op_##Name = define_unary(#Name, fn::Types::types, true);
COHORT_UNARY_TESTS(COHORT_ROW)
#undef COHORT_ROW
#define COHORT_ROW(Name, function, types) OpDef& op_##Name = define_binary(#Name, fn::Types::types, false);
COHORT_BINARY_FUNCTORS(COHORT_ROW)
#undef COHORT_ROW
#define COHORT_ROW(Name, function, types) OpDef& op_##Name = define_binary(#Name, fn::Types::types, true);
COHORT_BINARY_TESTS(COHORT_ROW)
#undef COHORT_ROW

}  // namespace

#define COHORT_ROW(Name, function, types) \
  Tensor function(const Tensor& x) { return call_unary(#Name, fn::Types::types, x); }
COHORT_UNARY_FUNCTORS(COHORT_ROW)
COHORT_UNARY_TESTS(COHORT_ROW)
#undef COHORT_ROW

#define COHORT_ROW(Name, function, types)                                                                  \
  Tensor function(const Tensor& a, const Tensor& b) { return call_binary(#Name, fn::Types::types, a, b); } \
  Tensor function(const Tensor& a, double b) { return function(a, scalar_like(a, b)); }                    \
  Tensor function(double a, const Tensor& b) { return function(scalar_like(b, a), b); }
COHORT_BINARY_FUNCTORS(COHORT_ROW)
COHORT_BINARY_TESTS(COHORT_ROW)
#undef COHORT_ROW

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  const DType dtype = promote(a.dtype(), b.dtype());
  return run_op("Select", {cast(condition, DType::Bool), cast(a, dtype), cast(b, dtype)});
}
Tensor where(const Tensor& condition, const Tensor& a, double b) { return where(condition, a, scalar_like(a, b)); }
Tensor where(const Tensor& condition, double a, const Tensor& b) { return where(condition, scalar_like(b, a), b); }

Tensor clip(const Tensor& x, double lowest, double highest) { return minimum(maximum(x, lowest), highest); }
Tensor clip(const Tensor& x, const Tensor& lowest, const Tensor& highest) {
  return minimum(maximum(x, lowest), highest);
}

COHORT_OP("Select")
    .inputs(3)
    .elementwise()
    .infer([](const OpCall& call) -> Specs {
      call.check(call.dtype(0) == DType::Bool, "the condition must be bool", {{"condition.dtype", call.dtype(0)}});
      call.check(call.dtype(1) == call.dtype(2) && is_plain(call.dtype(1)),
                 "both choices must have the same type, numbers or bool",
                 {{"a.dtype", call.dtype(1)}, {"b.dtype", call.dtype(2)}});
      const Shape choices = broadcast_shapes(call.shape(1), call.shape(2), call.name());
      return {{call.dtype(1), broadcast_shapes(call.shape(0), choices, call.name())}};
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Gradients {
      const Tensor& condition = call.input(0);
      return {Gradient(), sum_to_like(where(condition, dy, 0.0), call.input(1)),
              sum_to_like(where(condition, 0.0, dy), call.input(2))};
    });

// Gradients. In each line x (or a, b) are the inputs, y the output and dy what flows back; kinks as TensorFlow has
// them.
#define COHORT_UNARY_GRADIENT(Name, expression)                                  \
  [[maybe_unused]] static const OpDef& gradient_##Name =                         \
      op_##Name.gradient([](const OpCall& call, const Tensor& dy) -> Gradients { \
        [[maybe_unused]] const Tensor& x = call.input(0);                        \
        [[maybe_unused]] const Tensor& y = call.output(0);                       \
        return {expression};                                                     \
      });
#define COHORT_BINARY_GRADIENT(Name, a_expression, b_expression)                 \
  [[maybe_unused]] static const OpDef& gradient_##Name =                         \
      op_##Name.gradient([](const OpCall& call, const Tensor& dy) -> Gradients { \
        [[maybe_unused]] const Tensor& a = call.input(0);                        \
        [[maybe_unused]] const Tensor& b = call.input(1);                        \
        [[maybe_unused]] const Tensor& y = call.output(0);                       \
        return {sum_to_like(a_expression, a), sum_to_like(b_expression, b)};     \
      });
#define COHORT_NO_GRADIENT(Name) [[maybe_unused]] static const OpDef& gradient_##Name = op_##Name.not_differentiable();

// The formatter takes the products for pointers.
// clang-format off
COHORT_UNARY_GRADIENT(Negative, -dy)
COHORT_UNARY_GRADIENT(Abs, dy * sign(x))
COHORT_NO_GRADIENT(Sign)
COHORT_UNARY_GRADIENT(Square, dy * (x * 2.0))
COHORT_UNARY_GRADIENT(Sqrt, dy * 0.5 / y)
COHORT_UNARY_GRADIENT(Rsqrt, dy * (-0.5 * y * y * y))
COHORT_UNARY_GRADIENT(Reciprocal, -dy * y * y)
COHORT_UNARY_GRADIENT(Exp, dy * y)
COHORT_UNARY_GRADIENT(Expm1, dy * (y + 1.0))
COHORT_UNARY_GRADIENT(Log, dy / x)
COHORT_UNARY_GRADIENT(Log1p, dy / (x + 1.0))
COHORT_UNARY_GRADIENT(Log2, dy / (x * 0.69314718055994531))
COHORT_UNARY_GRADIENT(Log10, dy / (x * 2.3025850929940457))
COHORT_UNARY_GRADIENT(Sin, dy * cos(x))
COHORT_UNARY_GRADIENT(Cos, -dy * sin(x))
COHORT_UNARY_GRADIENT(Tan, dy * (square(y) + 1.0))
COHORT_UNARY_GRADIENT(Asin, dy * rsqrt(1.0 - square(x)))
COHORT_UNARY_GRADIENT(Acos, -dy * rsqrt(1.0 - square(x)))
COHORT_UNARY_GRADIENT(Atan, dy / (square(x) + 1.0))
COHORT_UNARY_GRADIENT(Sinh, dy * cosh(x))
COHORT_UNARY_GRADIENT(Cosh, dy * sinh(x))
COHORT_UNARY_GRADIENT(Tanh, tanh_grad(dy, y))
COHORT_UNARY_GRADIENT(Asinh, dy * rsqrt(square(x) + 1.0))
COHORT_UNARY_GRADIENT(Acosh, dy / sinh(y))
COHORT_UNARY_GRADIENT(Atanh, dy / (1.0 - square(x)))
COHORT_UNARY_GRADIENT(Erf, dy * (exp(-square(x)) * 1.1283791670955126))
COHORT_UNARY_GRADIENT(Erfc, dy * (exp(-square(x)) * -1.1283791670955126))
COHORT_NO_GRADIENT(Floor)
COHORT_NO_GRADIENT(Ceil)
COHORT_NO_GRADIENT(Round)
COHORT_NO_GRADIENT(Trunc)
COHORT_UNARY_GRADIENT(Sigmoid, sigmoid_grad(dy, y))
COHORT_UNARY_GRADIENT(Softplus, dy * sigmoid(x))
COHORT_UNARY_GRADIENT(Relu, relu_grad(dy, y))
COHORT_UNARY_GRADIENT(Relu6, where(logical_and(x > 0.0, x < 6.0), dy, 0.0))
COHORT_NO_GRADIENT(IsNan)
COHORT_NO_GRADIENT(IsInf)
COHORT_NO_GRADIENT(IsFinite)
COHORT_NO_GRADIENT(LogicalNot)

COHORT_BINARY_GRADIENT(Add, dy, dy)
COHORT_BINARY_GRADIENT(Subtract, dy, -dy)
COHORT_BINARY_GRADIENT(Multiply, dy * b, dy * a)
COHORT_BINARY_GRADIENT(Divide, dy / b, -dy * y / b)
COHORT_NO_GRADIENT(FloorDivide)
COHORT_BINARY_GRADIENT(Mod, dy, -dy * floor(a / b))
// The logarithm of what is not positive is left out, as the power of it with a real exponent is not defined.
COHORT_BINARY_GRADIENT(Pow, dy * b * pow(a, b - 1.0), dy * y * where(a > 0.0, log(where(a > 0.0, a, 1.0)), 0.0))
COHORT_BINARY_GRADIENT(Maximum, where(a >= b, dy, 0.0), where(a >= b, 0.0, dy))
COHORT_BINARY_GRADIENT(Minimum, where(a <= b, dy, 0.0), where(a <= b, 0.0, dy))
COHORT_BINARY_GRADIENT(SquaredDifference, dy * ((a - b) * 2.0), dy * ((b - a) * 2.0))
COHORT_BINARY_GRADIENT(Atan2, dy * (b / (square(a) + square(b))), -dy * (a / (square(a) + square(b))))
COHORT_BINARY_GRADIENT(SigmoidGrad, sigmoid_grad(dy, b), dy * a * (1.0 - b * 2.0))
COHORT_BINARY_GRADIENT(TanhGrad, tanh_grad(dy, b), dy * a * (b * -2.0))
[[maybe_unused]] static const OpDef& gradient_ReluGrad =
    op_ReluGrad.gradient([](const OpCall& call, const Tensor& dy) -> Gradients {
      return {sum_to_like(relu_grad(dy, call.input(1)), call.input(0)), Gradient()};
    });
COHORT_NO_GRADIENT(Equal)
COHORT_NO_GRADIENT(NotEqual)
COHORT_NO_GRADIENT(Less)
COHORT_NO_GRADIENT(LessEqual)
COHORT_NO_GRADIENT(Greater)
COHORT_NO_GRADIENT(GreaterEqual)
COHORT_NO_GRADIENT(LogicalAnd)
COHORT_NO_GRADIENT(LogicalOr)
COHORT_NO_GRADIENT(LogicalXor)
// clang-format on

}  // namespace cohort::ops

namespace cohort {

Tensor operator-(const Tensor& x) { return ops::negative(x); }
Tensor operator!(const Tensor& x) { return ops::logical_not(x); }

#define COHORT_OPERATOR(symbol, function)                                                  \
  Tensor operator symbol(const Tensor& a, const Tensor& b) { return ops::function(a, b); } \
  Tensor operator symbol(const Tensor& a, double b) { return ops::function(a, b); }        \
  Tensor operator symbol(double a, const Tensor& b) { return ops::function(a, b); }
COHORT_OPERATOR(+, add)
COHORT_OPERATOR(-, subtract)
COHORT_OPERATOR(*, multiply)
COHORT_OPERATOR(/, divide)
COHORT_OPERATOR(<, less)
COHORT_OPERATOR(<=, less_equal)
COHORT_OPERATOR(>, greater)
COHORT_OPERATOR(>=, greater_equal)
#undef COHORT_OPERATOR

#undef COHORT_NO_GRADIENT
#undef COHORT_BINARY_GRADIENT
#undef COHORT_UNARY_GRADIENT

}  // namespace cohort
