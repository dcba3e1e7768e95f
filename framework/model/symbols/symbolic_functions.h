#pragma once

#include <optional>
#include <vector>

#include "cohort/model/symbols/symbolic_tensor.h"
#include "cohort/ops/math.h"

// Elementwise functions of symbols beyond those of ops/math.h: each is the op of the same name on tensors, and becomes
// a step of the functional model that Keras reads as its own operation.
namespace cohort::ops {

#define COHORT_OF_ONE(name) SymbolicTensor name(const SymbolicTensor& x)
#define COHORT_OF_TWO(name)                                                 \
  SymbolicTensor name(const SymbolicTensor& x1, const SymbolicTensor& x2);  \
  SymbolicTensor name(const SymbolicTensor& x1, const SymbolicOperand& x2); \
  SymbolicTensor name(const SymbolicOperand& x1, const SymbolicTensor& x2)

// The op of the same name as a layer.
COHORT_OF_ONE(fabs);
COHORT_OF_ONE(cbrt);
COHORT_OF_ONE(exp2);
COHORT_OF_ONE(deg2rad);
COHORT_OF_ONE(rad2deg);
COHORT_OF_ONE(sinc);
COHORT_OF_ONE(isposinf);
COHORT_OF_ONE(isneginf);
COHORT_OF_ONE(real);
COHORT_OF_ONE(conj);
COHORT_OF_ONE(conjugate);
COHORT_OF_ONE(copy);
COHORT_OF_ONE(stop_gradient);
COHORT_OF_TWO(hypot);
COHORT_OF_TWO(logaddexp);
COHORT_OF_TWO(logaddexp2);
COHORT_OF_TWO(heaviside);
COHORT_OF_TWO(divide_no_nan);
COHORT_OF_TWO(fmax);
COHORT_OF_TWO(fmin);
COHORT_OF_TWO(fmod);
SymbolicTensor round(const SymbolicTensor& x, int decimals = 0);
SymbolicTensor isclose(const SymbolicTensor& x1, const SymbolicTensor& x2, double rtol = 1e-5, double atol = 1e-8,
                       bool equal_nan = false);
SymbolicTensor isclose(const SymbolicTensor& x1, const SymbolicOperand& x2, double rtol = 1e-5, double atol = 1e-8,
                       bool equal_nan = false);
SymbolicTensor nan_to_num(const SymbolicTensor& x, double nan = 0.0, std::optional<double> posinf = std::nullopt,
                          std::optional<double> neginf = std::nullopt);
SymbolicTensor clip(const SymbolicTensor& x, double minimum, double maximum);
SymbolicTensor clip(const SymbolicTensor& x, const SymbolicOperand& minimum, const SymbolicOperand& maximum);
SymbolicTensor digitize(const SymbolicTensor& x, const std::vector<double>& bins);
SymbolicTensor cast(const SymbolicTensor& x, DType dtype);
SymbolicTensor saturate_cast(const SymbolicTensor& x, DType dtype);
SymbolicTensor convert_to_tensor(const SymbolicTensor& x, std::optional<DType> dtype = std::nullopt);
SymbolicTensor where(const SymbolicTensor& condition, const SymbolicTensor& a, const SymbolicTensor& b);
SymbolicTensor where(const SymbolicTensor& condition, const SymbolicTensor& a, const SymbolicOperand& b);
SymbolicTensor where(const SymbolicTensor& condition, const SymbolicOperand& a, const SymbolicTensor& b);
SymbolicTensor where(const SymbolicTensor& condition, const SymbolicOperand& a, const SymbolicOperand& b);
SymbolicTensor select(const std::vector<SymbolicTensor>& condlist, const std::vector<SymbolicTensor>& choicelist,
                      const SymbolicOperand& otherwise = 0);

// Activations: the op of the same name as a layer.
COHORT_OF_ONE(selu);
COHORT_OF_ONE(silu);
COHORT_OF_ONE(swish);
COHORT_OF_ONE(log_sigmoid);
COHORT_OF_ONE(hard_sigmoid);
COHORT_OF_ONE(hard_silu);
COHORT_OF_ONE(hard_swish);
COHORT_OF_ONE(sparse_sigmoid);
COHORT_OF_ONE(hard_tanh);
COHORT_OF_ONE(sparse_plus);
COHORT_OF_ONE(softsign);
COHORT_OF_ONE(tanh_shrink);
SymbolicTensor gelu(const SymbolicTensor& x, bool approximate = true);
SymbolicTensor leaky_relu(const SymbolicTensor& x, double negative_slope = 0.2);
SymbolicTensor elu(const SymbolicTensor& x, double alpha = 1.0);
SymbolicTensor celu(const SymbolicTensor& x, double alpha = 1.0);
SymbolicTensor glu(const SymbolicTensor& x, int axis = -1);
SymbolicTensor squareplus(const SymbolicTensor& x, double b = 4.0);
SymbolicTensor soft_shrink(const SymbolicTensor& x, double threshold = 0.5);
SymbolicTensor hard_shrink(const SymbolicTensor& x, double threshold = 0.5);
SymbolicTensor threshold(const SymbolicTensor& x, double threshold, double default_value);
SymbolicTensor softmax(const SymbolicTensor& x, int axis = -1);
SymbolicTensor log_softmax(const SymbolicTensor& x, int axis = -1);
SymbolicTensor sparsemax(const SymbolicTensor& x, int axis = -1);

}  // namespace cohort::ops

namespace cohort::activations {

#define COHORT_AS_OP(name) \
  inline SymbolicTensor name(const SymbolicTensor& x) { return ops::name(x); }
#define COHORT_AS_OP_WITH(name, Type, argument, value) \
  inline SymbolicTensor name(const SymbolicTensor& x, Type argument = value) { return ops::name(x, argument); }

// The activation of the same name as a layer.
inline SymbolicTensor linear(const SymbolicTensor& x) { return x; }
SymbolicTensor relu(const SymbolicTensor& x, double negative_slope = 0.0,
                    std::optional<double> max_value = std::nullopt, double threshold = 0.0);
COHORT_OF_ONE(mish);
inline SymbolicTensor exponential(const SymbolicTensor& x) { return ops::exp(x); }
inline SymbolicTensor threshold(const SymbolicTensor& x, double threshold, double default_value) {
  return ops::threshold(x, threshold, default_value);
}
COHORT_AS_OP(relu6)
COHORT_AS_OP(selu)
COHORT_AS_OP(silu)
COHORT_AS_OP(sigmoid)
COHORT_AS_OP(log_sigmoid)
COHORT_AS_OP(hard_sigmoid)
COHORT_AS_OP(hard_silu)
COHORT_AS_OP(sparse_sigmoid)
COHORT_AS_OP(tanh)
COHORT_AS_OP(hard_tanh)
COHORT_AS_OP(softplus)
COHORT_AS_OP(sparse_plus)
COHORT_AS_OP(softsign)
COHORT_AS_OP(tanh_shrink)
COHORT_AS_OP_WITH(gelu, bool, approximate, false)
COHORT_AS_OP_WITH(leaky_relu, double, negative_slope, 0.2)
COHORT_AS_OP_WITH(elu, double, alpha, 1.0)
COHORT_AS_OP_WITH(celu, double, alpha, 1.0)
COHORT_AS_OP_WITH(squareplus, double, b, 4.0)
COHORT_AS_OP_WITH(soft_shrink, double, threshold, 0.5)
COHORT_AS_OP_WITH(hard_shrink, double, threshold, 0.5)
COHORT_AS_OP_WITH(glu, int, axis, -1)
COHORT_AS_OP_WITH(softmax, int, axis, -1)
COHORT_AS_OP_WITH(log_softmax, int, axis, -1)
COHORT_AS_OP_WITH(sparsemax, int, axis, -1)
#undef COHORT_AS_OP
#undef COHORT_AS_OP_WITH
#undef COHORT_OF_ONE
#undef COHORT_OF_TWO

}  // namespace cohort::activations

namespace cohort {

// ops::negative.
inline SymbolicTensor operator-(const SymbolicTensor& x) { return ops::negative(x); }
// ops::logical_not.
inline SymbolicTensor operator!(const SymbolicTensor& x) { return ops::logical_not(x); }

#define COHORT_SYMBOLIC_OPERATOR(symbol, function)                                           \
  inline SymbolicTensor operator symbol(const SymbolicTensor& a, const SymbolicTensor& b) {  \
    return ops::function(a, b);                                                              \
  }                                                                                          \
  inline SymbolicTensor operator symbol(const SymbolicTensor& a, const SymbolicOperand& b) { \
    return ops::function(a, b);                                                              \
  }                                                                                          \
  inline SymbolicTensor operator symbol(const SymbolicOperand& a, const SymbolicTensor& b) { \
    return ops::function(a, b);                                                              \
  }
// ops::add.
COHORT_SYMBOLIC_OPERATOR(+, add)
// ops::subtract.
COHORT_SYMBOLIC_OPERATOR(-, subtract)
// ops::multiply.
COHORT_SYMBOLIC_OPERATOR(*, multiply)
// ops::divide.
COHORT_SYMBOLIC_OPERATOR(/, divide)
// ops::less.
COHORT_SYMBOLIC_OPERATOR(<, less)
// ops::less_equal.
COHORT_SYMBOLIC_OPERATOR(<=, less_equal)
// ops::greater.
COHORT_SYMBOLIC_OPERATOR(>, greater)
// ops::greater_equal.
COHORT_SYMBOLIC_OPERATOR(>=, greater_equal)
#undef COHORT_SYMBOLIC_OPERATOR

}  // namespace cohort
