#include "cohort/model/activations.h"
#include "cohort/model/symbols/operation_table.h"
#include "cohort/model/symbols/symbolic_functions.h"
#include "cohort/ops/activations.h"
#include "cohort/ops/gelu.h"
#include "cohort/ops/nn.h"

// Keras's activations as operations: what a functional model holds where one was called on a symbol.
namespace cohort {
namespace {

using operations::Arguments;
using operations::number_of;
using OneWithNumber = Tensor (*)(const Tensor&, double);
using OneWithAxis = Tensor (*)(const Tensor&, int);

// X(function, Keras's name)
#define COHORT_PLAIN_ACTIVATIONS(X) \
  X(selu, Selu)                     \
  X(silu, Silu)                     \
  X(log_sigmoid, LogSigmoid)        \
  X(hard_sigmoid, HardSigmoid)      \
  X(hard_silu, HardSilu)            \
  X(sparse_sigmoid, SparseSigmoid)  \
  X(hard_tanh, HardTanh)            \
  X(sparse_plus, SparsePlus)        \
  X(softsign, Softsign)             \
  X(tanh_shrink, TanhShrink)
// X(function, Keras's name, the number it takes)
#define COHORT_NUMBER_ACTIVATIONS(X)       \
  X(leaky_relu, LeakyRelu, negative_slope) \
  X(elu, Elu, alpha)                       \
  X(celu, Celu, alpha)                     \
  X(squareplus, Squareplus, b)             \
  X(soft_shrink, SoftShrink, threshold)    \
  X(hard_shrink, HardShrink, threshold)
// X(function, Keras's name)
#define COHORT_AXIS_ACTIVATIONS(X) \
  X(glu, Glu)                      \
  X(softmax, Softmax)              \
  X(log_softmax, LogSoftmax)       \
  X(sparsemax, Sparsemax)

void add_with_number(const char* name, const char* field, OneWithNumber function) {
  operations::add_operation("nn", name, {"x"}, {field},
                            [function, field = std::string(field)](const Arguments& a, const Attributes& config) {
                              return Element(function(a[0].leaf(), number_of(config, field.c_str())));
                            });
}

void add_with_axis(const char* name, OneWithAxis function) {
  operations::add_operation("nn", name, {"x"}, {"axis"}, [function](const Arguments& a, const Attributes& config) {
    return Element(function(a[0].leaf(), operations::axis_of(config).value_or(-1)));
  });
}

void add_of_keras_activations(const char* name, const std::vector<std::string>& fields, operations::Compute compute) {
  register_operation(
      {"keras.src.activations.activations", name, {"x"}, operations::fields_of_any_kind(fields), std::move(compute)});
}

const bool activations_registered = [] {
#define COHORT_ROW(function, keras) operations::add_of_one("nn", #keras, ops::function);
  COHORT_PLAIN_ACTIVATIONS(COHORT_ROW)
#undef COHORT_ROW
#define COHORT_ROW(function, keras, number) add_with_number(#keras, #number, ops::function);
  COHORT_NUMBER_ACTIVATIONS(COHORT_ROW)
#undef COHORT_ROW
#define COHORT_ROW(function, keras) add_with_axis(#keras, ops::function);
  COHORT_AXIS_ACTIVATIONS(COHORT_ROW)
#undef COHORT_ROW
  operations::add_operation("nn", "Gelu", {"x"}, {"approximate"}, [](const Arguments& a, const Attributes& config) {
    return Element(ops::gelu(a[0].leaf(), operations::bool_of(config, "approximate", true)));
  });
  operations::add_operation(
      "nn", "Threshold", {"x"}, {"threshold", "default_value"}, [](const Arguments& a, const Attributes& config) {
        return Element(ops::threshold(a[0].leaf(), number_of(config, "threshold"), number_of(config, "default_value")));
      });
  add_of_keras_activations("ReLU", {"negative_slope", "max_value", "threshold"},
                           [](const Arguments& a, const Attributes& config) {
                             return Element(activations::relu(a[0].leaf(), number_of(config, "negative_slope"),
                                                              operations::optional_number(config, "max_value"),
                                                              number_of(config, "threshold")));
                           });
  add_of_keras_activations(
      "Mish", {}, [](const Arguments& a, const Attributes&) { return Element(activations::mish(a[0].leaf())); });
  return true;
}();

}  // namespace

namespace ops {

using operations::call_one;

#define COHORT_ROW(function, keras) COHORT_SYMBOL_OF_ONE(function, "nn>" #keras)
COHORT_PLAIN_ACTIVATIONS(COHORT_ROW)
#undef COHORT_ROW
#define COHORT_ROW(function, keras, number)                         \
  SymbolicTensor function(const SymbolicTensor& x, double number) { \
    return call_one("nn>" #keras, {x}, {{#number, number}});        \
  }
COHORT_NUMBER_ACTIVATIONS(COHORT_ROW)
#undef COHORT_ROW
#define COHORT_ROW(function, keras) \
  SymbolicTensor function(const SymbolicTensor& x, int axis) { return call_one("nn>" #keras, {x}, {{"axis", axis}}); }
COHORT_AXIS_ACTIVATIONS(COHORT_ROW)
#undef COHORT_ROW
#undef COHORT_PLAIN_ACTIVATIONS
#undef COHORT_NUMBER_ACTIVATIONS
#undef COHORT_AXIS_ACTIVATIONS

SymbolicTensor swish(const SymbolicTensor& x) { return silu(x); }
SymbolicTensor hard_swish(const SymbolicTensor& x) { return hard_silu(x); }
SymbolicTensor gelu(const SymbolicTensor& x, bool approximate) {
  return call_one("nn>Gelu", {x}, {{"approximate", approximate}});
}
SymbolicTensor threshold(const SymbolicTensor& x, double threshold, double default_value) {
  return call_one("nn>Threshold", {x}, {{"threshold", threshold}, {"default_value", default_value}});
}

}  // namespace ops

namespace activations {

SymbolicTensor relu(const SymbolicTensor& x, double negative_slope, std::optional<double> max_value, double threshold) {
  Attributes config{{"negative_slope", negative_slope}, {"threshold", threshold}};
  if (max_value) config.set("max_value", *max_value);
  return operations::call_one("keras.src.activations.activations>ReLU", {x}, config);
}

// Keras cannot call its own mish on a symbol: the model holds what it is made of.
SymbolicTensor mish(const SymbolicTensor& x) { return x * ops::tanh(ops::softplus(x)); }

}  // namespace activations
}  // namespace cohort
