#include "cohort/ops/math.h"

#include <cmath>

#include "cohort/core/dispatch.h"
#include "cohort/ops/elementwise_rules.h"

namespace cohort::ops {
namespace {

// One definition per row of the functor table, reachable as op_Name.
#define COHORT_ROW(Name, function, types, ...) OpDef& op_##Name = define_unary(#Name, fn::Types::types, false);
COHORT_UNARY_FUNCTORS(COHORT_ROW)
#undef COHORT_ROW
#define COHORT_ROW(Name, function, types, ...) OpDef& op_##Name = define_unary(#Name, fn::Types::types, true);
COHORT_UNARY_TESTS(COHORT_ROW)
#undef COHORT_ROW
#define COHORT_ROW(Name, function, types, ...) OpDef& op_##Name = define_binary(#Name, fn::Types::types, false);
COHORT_BINARY_FUNCTORS(COHORT_ROW)
#undef COHORT_ROW
#define COHORT_ROW(Name, function, types, ...) OpDef& op_##Name = define_binary(#Name, fn::Types::types, true);
COHORT_BINARY_TESTS(COHORT_ROW)
#undef COHORT_ROW

}  // namespace

#define COHORT_ROW(Name, function, types, ...) \
  Tensor function(const Tensor& x) { return call_unary(#Name, fn::Types::types, x); }
COHORT_UNARY_FUNCTORS(COHORT_ROW)
COHORT_UNARY_TESTS(COHORT_ROW)
#undef COHORT_ROW

#define COHORT_ROW(Name, function, types, ...)                                                             \
  Tensor function(const Tensor& a, const Tensor& b) { return call_binary(#Name, fn::Types::types, a, b); } \
  Tensor function(const Tensor& a, double b) { return function(a, scalar_like(a, b)); }                    \
  Tensor function(double a, const Tensor& b) { return function(scalar_like(b, a), b); }
COHORT_BINARY_FUNCTORS(COHORT_ROW)
COHORT_BINARY_TESTS(COHORT_ROW)
#undef COHORT_ROW

Tensor round(const Tensor& x, int decimals) {
  const bool whole = !is_floating(x.dtype());
  if (decimals == 0 || (whole && decimals > 0)) return round(x);
  const double scale = std::pow(10.0, std::abs(decimals));
  const Tensor real = to_floating(x);
  return cast(decimals > 0 ? round(real * scale) / scale : round(real / scale) * scale,
              whole ? x.dtype() : real.dtype());
}

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

namespace {

// An operand that was broadcast gets the sum of what flows to its copies.
Gradient summed(const Tensor& flow, const Tensor& operand) {
  return flow.defined() ? Gradient(sum_to_like(flow, operand)) : Gradient();
}

OpDef& differentiate(OpDef& op) { return op.not_differentiable(); }
template <class GradientOf>
OpDef& differentiate(OpDef& op, GradientOf gradient) {
  return op.gradient(gradient);
}

#define COHORT_ROW(Name, function, types, module, keras, ...)                                      \
  [[maybe_unused]] const OpDef& gradient_##Name =                                                  \
      differentiate(op_##Name __VA_OPT__(, [](const OpCall& call, const Tensor& dy) -> Gradients { \
        [[maybe_unused]] const Tensor &x = call.input(0), &y = call.output(0);                     \
        return {__VA_ARGS__};                                                                      \
      }));
COHORT_UNARY_FUNCTORS(COHORT_ROW)
COHORT_UNARY_TESTS(COHORT_ROW)
#undef COHORT_ROW
#define COHORT_BOTH(of_a, of_b) summed(of_a, a), summed(of_b, b)
#define COHORT_ROW(Name, function, types, module, keras, ...)                                      \
  [[maybe_unused]] const OpDef& gradient_##Name =                                                  \
      differentiate(op_##Name __VA_OPT__(, [](const OpCall& call, const Tensor& dy) -> Gradients { \
        [[maybe_unused]] const Tensor &a = call.input(0), &b = call.input(1), &y = call.output(0); \
        return {COHORT_BOTH(__VA_ARGS__)};                                                         \
      }));
COHORT_BINARY_FUNCTORS(COHORT_ROW)
COHORT_BINARY_TESTS(COHORT_ROW)
#undef COHORT_ROW
#undef COHORT_BOTH

}  // namespace
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

}  // namespace cohort
