#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cohort/model/symbols/operation.h"
#include "cohort/model/symbols/symbolic_linalg.h"
#include "cohort/model/symbols/symbolic_tensor.h"
#include "cohort/ops/reduce.h"
#include "cohort/ops/slicing.h"

// Ops and operators on symbols: each becomes a layer of the functional model, saved as Keras saves it. Behaviour is
// that of the op of the same name on tensors.
namespace cohort {

namespace detail {

template <class T>
OperationArgument operation_argument(const T& value) {
  if constexpr (std::is_same_v<T, SymbolicTensor> || std::is_same_v<T, Tensor>) {
    return value;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<std::int64_t>(value);
  } else {
    return static_cast<double>(value);
  }
}

template <class T>
inline constexpr bool is_operand =
    std::is_same_v<T, SymbolicTensor> || std::is_same_v<T, Tensor> || std::is_arithmetic_v<T>;
// Two operands of which one at least is a symbol.
template <class A, class B>
concept SymbolicOperands = is_operand<A> && is_operand<B> &&
    (std::is_same_v<A, SymbolicTensor> || std::is_same_v<B, SymbolicTensor>);

}  // namespace detail

namespace ops {

#define COHORT_SYMBOLIC_UNARY(name, operation) \
  inline SymbolicTensor name(const SymbolicTensor& x) { return call_operation(operation, {x}).flatten().at(0); }
#define COHORT_SYMBOLIC_BINARY(name, operation)                                                              \
  template <class A, class B>                                                                                \
  requires detail::SymbolicOperands<A, B> SymbolicTensor name(const A& a, const B& b) {                      \
    return call_operation(operation, {detail::operation_argument(a), detail::operation_argument(b)}).leaf(); \
  }

// Two symbols, or a symbol and a number or tensor: the op of the same name as a layer.
COHORT_SYMBOLIC_BINARY(add, "numpy>Add")
COHORT_SYMBOLIC_BINARY(subtract, "numpy>Subtract")
COHORT_SYMBOLIC_BINARY(multiply, "numpy>Multiply")
COHORT_SYMBOLIC_BINARY(divide, "numpy>TrueDivide")
COHORT_SYMBOLIC_BINARY(floor_divide, "numpy>FloorDivide")
COHORT_SYMBOLIC_BINARY(mod, "numpy>Mod")
COHORT_SYMBOLIC_BINARY(pow, "numpy>Power")
COHORT_SYMBOLIC_BINARY(maximum, "numpy>Maximum")
COHORT_SYMBOLIC_BINARY(minimum, "numpy>Minimum")
COHORT_SYMBOLIC_BINARY(atan2, "numpy>Arctan2")
COHORT_SYMBOLIC_BINARY(equal, "numpy>Equal")
COHORT_SYMBOLIC_BINARY(not_equal, "numpy>NotEqual")
COHORT_SYMBOLIC_BINARY(less, "numpy>Less")
COHORT_SYMBOLIC_BINARY(less_equal, "numpy>LessEqual")
COHORT_SYMBOLIC_BINARY(greater, "numpy>Greater")
COHORT_SYMBOLIC_BINARY(greater_equal, "numpy>GreaterEqual")
COHORT_SYMBOLIC_BINARY(logical_and, "numpy>LogicalAnd")
COHORT_SYMBOLIC_BINARY(logical_or, "numpy>LogicalOr")
COHORT_SYMBOLIC_BINARY(logical_xor, "numpy>LogicalXor")
COHORT_SYMBOLIC_BINARY(matmul, "numpy>Matmul")
COHORT_SYMBOLIC_BINARY(dot, "numpy>Dot")

// One symbol: the op of the same name as a layer.
COHORT_SYMBOLIC_UNARY(logical_not, "numpy>LogicalNot")
COHORT_SYMBOLIC_UNARY(negative, "numpy>Negative")
COHORT_SYMBOLIC_UNARY(abs, "numpy>Absolute")
COHORT_SYMBOLIC_UNARY(sign, "numpy>Sign")
COHORT_SYMBOLIC_UNARY(square, "numpy>Square")
COHORT_SYMBOLIC_UNARY(sqrt, "numpy>Sqrt")
COHORT_SYMBOLIC_UNARY(rsqrt, "math>Rsqrt")
COHORT_SYMBOLIC_UNARY(reciprocal, "numpy>Reciprocal")
COHORT_SYMBOLIC_UNARY(exp, "numpy>Exp")
COHORT_SYMBOLIC_UNARY(expm1, "numpy>Expm1")
COHORT_SYMBOLIC_UNARY(log, "numpy>Log")
COHORT_SYMBOLIC_UNARY(log1p, "numpy>Log1p")
COHORT_SYMBOLIC_UNARY(log2, "numpy>Log2")
COHORT_SYMBOLIC_UNARY(log10, "numpy>Log10")
COHORT_SYMBOLIC_UNARY(sin, "numpy>Sin")
COHORT_SYMBOLIC_UNARY(cos, "numpy>Cos")
COHORT_SYMBOLIC_UNARY(tan, "numpy>Tan")
COHORT_SYMBOLIC_UNARY(asin, "numpy>Arcsin")
COHORT_SYMBOLIC_UNARY(acos, "numpy>Arccos")
COHORT_SYMBOLIC_UNARY(atan, "numpy>Arctan")
COHORT_SYMBOLIC_UNARY(sinh, "numpy>Sinh")
COHORT_SYMBOLIC_UNARY(cosh, "numpy>Cosh")
COHORT_SYMBOLIC_UNARY(tanh, "numpy>Tanh")
COHORT_SYMBOLIC_UNARY(asinh, "numpy>Arcsinh")
COHORT_SYMBOLIC_UNARY(acosh, "numpy>Arccosh")
COHORT_SYMBOLIC_UNARY(atanh, "numpy>Arctanh")
COHORT_SYMBOLIC_UNARY(erf, "math>Erf")
COHORT_SYMBOLIC_UNARY(erfc, "math>Erfc")
COHORT_SYMBOLIC_UNARY(floor, "numpy>Floor")
COHORT_SYMBOLIC_UNARY(ceil, "numpy>Ceil")
COHORT_SYMBOLIC_UNARY(trunc, "numpy>Trunc")
COHORT_SYMBOLIC_UNARY(is_nan, "numpy>Isnan")
COHORT_SYMBOLIC_UNARY(is_inf, "numpy>Isinf")
COHORT_SYMBOLIC_UNARY(is_finite, "numpy>Isfinite")
COHORT_SYMBOLIC_UNARY(sigmoid, "nn>Sigmoid")
COHORT_SYMBOLIC_UNARY(softplus, "nn>Softplus")
COHORT_SYMBOLIC_UNARY(relu, "nn>Relu")
COHORT_SYMBOLIC_UNARY(relu6, "nn>Relu6")
COHORT_SYMBOLIC_UNARY(stop_gradient, "core>StopGradient")
COHORT_SYMBOLIC_UNARY(zeros_like, "numpy>ZerosLike")
COHORT_SYMBOLIC_UNARY(ones_like, "numpy>OnesLike")

#undef COHORT_SYMBOLIC_UNARY
#undef COHORT_SYMBOLIC_BINARY

// Ops with more arguments, as layers; the arguments are those of the op of the same name on tensors.
SymbolicTensor round(const SymbolicTensor& x);
SymbolicTensor where(const SymbolicTensor& condition, const SymbolicTensor& a, const SymbolicTensor& b);
SymbolicTensor where(const SymbolicTensor& condition, const SymbolicTensor& a, double b);
SymbolicTensor where(const SymbolicTensor& condition, double a, const SymbolicTensor& b);
SymbolicTensor clip(const SymbolicTensor& x, double minimum, double maximum);
SymbolicTensor cast(const SymbolicTensor& x, DType dtype);
SymbolicTensor softmax(const SymbolicTensor& x, int axis = -1);
SymbolicTensor log_softmax(const SymbolicTensor& x, int axis = -1);
SymbolicTensor one_hot(const SymbolicTensor& indices, std::int64_t depth, int axis = -1, DType dtype = DType::Float32);

// Ops on shapes, as layers. Shapes and axes have the batch as axis 0.
SymbolicTensor reshape(const SymbolicTensor& x, const std::vector<std::int64_t>& shape);
SymbolicTensor expand_dims(const SymbolicTensor& x, int axis);
SymbolicTensor squeeze(const SymbolicTensor& x, const std::vector<std::int64_t>& axes = {});
SymbolicTensor transpose(const SymbolicTensor& x, const std::vector<std::int64_t>& axes = {});
SymbolicTensor swapaxes(const SymbolicTensor& x, int axis1, int axis2);
SymbolicTensor moveaxis(const SymbolicTensor& x, int source, int destination);
SymbolicTensor broadcast_to(const SymbolicTensor& x, const std::vector<std::int64_t>& shape);
SymbolicTensor concatenate(const std::vector<SymbolicTensor>& tensors, int axis = -1);
SymbolicTensor stack(const std::vector<SymbolicTensor>& tensors, int axis = 0);
std::vector<SymbolicTensor> split(const SymbolicTensor& x, int num, int axis = 0);
SymbolicTensor tile(const SymbolicTensor& x, const std::vector<std::int64_t>& multiples);
SymbolicTensor repeat(const SymbolicTensor& x, int repeats, int axis);
SymbolicTensor flip(const SymbolicTensor& x, const std::vector<std::int64_t>& axes = {});
SymbolicTensor roll(const SymbolicTensor& x, std::int64_t shift, int axis);
SymbolicTensor strided_slice(const SymbolicTensor& x, const std::vector<SliceSpec>& axes);
SymbolicTensor take_at(const SymbolicTensor& x, std::int64_t index, int axis = 0);
SymbolicTensor take(const SymbolicTensor& x, const SymbolicTensor& indices, int axis = 0);
SymbolicTensor take_along_axis(const SymbolicTensor& x, const SymbolicTensor& indices, int axis = -1);

// Ops along axes, as layers; no axes: all of them, the batch included. `keep` keeps an axis of size 1.
SymbolicTensor sum(const SymbolicTensor& x, const Axes& axes = {}, bool keep = false);
SymbolicTensor mean(const SymbolicTensor& x, const Axes& axes = {}, bool keep = false);
SymbolicTensor prod(const SymbolicTensor& x, const Axes& axes = {}, bool keep = false);
SymbolicTensor max(const SymbolicTensor& x, const Axes& axes = {}, bool keep = false);
SymbolicTensor min(const SymbolicTensor& x, const Axes& axes = {}, bool keep = false);
SymbolicTensor any(const SymbolicTensor& x, const Axes& axes = {}, bool keep = false);
SymbolicTensor all(const SymbolicTensor& x, const Axes& axes = {}, bool keep = false);
SymbolicTensor logsumexp(const SymbolicTensor& x, const Axes& axes = {}, bool keep = false);
SymbolicTensor variance(const SymbolicTensor& x, const Axes& axes = {}, bool keep = false);
SymbolicTensor standard_deviation(const SymbolicTensor& x, const Axes& axes = {}, bool keep = false);
SymbolicTensor argmax(const SymbolicTensor& x, int axis = -1, bool keep = false);
SymbolicTensor argmin(const SymbolicTensor& x, int axis = -1, bool keep = false);
SymbolicTensor cumsum(const SymbolicTensor& x, int axis);
SymbolicTensor cumprod(const SymbolicTensor& x, int axis);
SymbolicTensor sort(const SymbolicTensor& x, int axis = -1);
SymbolicTensor argsort(const SymbolicTensor& x, int axis = -1);
SymbolicTensor einsum(std::string_view equation, const std::vector<SymbolicTensor>& operands);
SymbolicTensor tensordot(const SymbolicTensor& x1, const SymbolicTensor& x2, int axes = 2);

}  // namespace ops

// Operators, as layers.
inline SymbolicTensor operator-(const SymbolicTensor& x) { return ops::negative(x); }
inline SymbolicTensor operator!(const SymbolicTensor& x) { return ops::logical_not(x); }

#define COHORT_SYMBOLIC_OPERATOR(symbol, function)                                                 \
  template <class A, class B>                                                                      \
  requires detail::SymbolicOperands<A, B> SymbolicTensor operator symbol(const A& a, const B& b) { \
    return ops::function(a, b);                                                                    \
  }
COHORT_SYMBOLIC_OPERATOR(+, add)
COHORT_SYMBOLIC_OPERATOR(-, subtract)
COHORT_SYMBOLIC_OPERATOR(*, multiply)
COHORT_SYMBOLIC_OPERATOR(/, divide)
COHORT_SYMBOLIC_OPERATOR(<, less)
COHORT_SYMBOLIC_OPERATOR(<=, less_equal)
COHORT_SYMBOLIC_OPERATOR(>, greater)
COHORT_SYMBOLIC_OPERATOR(>=, greater_equal)
#undef COHORT_SYMBOLIC_OPERATOR

}  // namespace cohort
