#include "cohort/graph/trace.h"
#include "cohort/model/symbols/operation_table.h"
#include "cohort/model/symbols/symbolic_functions.h"
#include "cohort/ops/array.h"
#include "cohort/ops/functions.h"
#include "cohort/ops/keras_names.h"
#include "cohort/ops/math.h"

// Keras's elementwise operations that are no rows of the functor table.
namespace cohort {
namespace {

using operations::add_operation;
using operations::Arguments;
using operations::number_of;

// X(function, Keras's name)
#define COHORT_FUNCTIONS_OF_ONE(X) \
  X(fabs, Fabs)                    \
  X(cbrt, Cbrt)                    \
  X(exp2, Exp2)                    \
  X(deg2rad, Deg2rad)              \
  X(rad2deg, Rad2deg)              \
  X(sinc, Sinc)                    \
  X(isposinf, Isposinf)            \
  X(isneginf, Isneginf)            \
  X(real, Real)                    \
  X(conj, Conj)                    \
  X(conjugate, Conjugate)          \
  X(copy, Copy)
#define COHORT_FUNCTIONS_OF_TWO(X) \
  X(hypot, Hypot)                  \
  X(logaddexp, Logaddexp)          \
  X(logaddexp2, Logaddexp2)        \
  X(heaviside, Heaviside)          \
  X(divide_no_nan, DivideNoNan)    \
  X(fmax, Fmax)                    \
  X(fmin, Fmin)                    \
  X(fmod, Fmod)

Element selected(const Arguments& a, const Attributes&) {
  if (a[2].empty()) return Element(ops::select(a[0].flatten(), a[1].flatten()));
  return Element(ops::select(a[0].flatten(), a[1].flatten(), a[2].leaf()));
}

Element digitized(const Arguments& a, const Attributes&) {
  if (a[1].empty() || a[1].leaf().is_symbolic()) {
    throw unimplemented("Digitize", "bins whose values are known are expected");
  }
  const auto bins = [&] {
    const EagerScope at_once;
    return ops::cast(a[1].leaf().to_host(), DType::Float64).to_vector<double>();
  };
  return ops::digitize(a[0].leaf(), bins());
}

Element cast_if_given(const Tensor& x, const Attributes& config) {
  return Element(ops::cast(x, operations::dtype_of(config, x.dtype())));
}

[[maybe_unused]] const bool functions_registered = [] {
#define COHORT_ROW(function, keras) operations::add_of_one("numpy", #keras, ops::function);
  COHORT_FUNCTIONS_OF_ONE(COHORT_ROW)
#undef COHORT_ROW
#define COHORT_ROW(function, keras) operations::add_of_two("numpy", #keras, ops::function);
  COHORT_FUNCTIONS_OF_TWO(COHORT_ROW)
#undef COHORT_ROW
  operations::add_of_one("numpy", "Abs", ops::abs);
  operations::add_of_one("numpy", "Positive", ops::copy);
  operations::add_of_one("core", "StopGradient", ops::stop_gradient, "variable");
  add_operation("numpy", "Round", {"x"}, {"decimals"}, [](const Arguments& a, const Attributes& config) {
    return Element(ops::round(a[0].leaf(), static_cast<int>(operations::integer_of(config, "decimals"))));
  });
  add_operation("numpy", "Where", {"condition", "x1", "x2"}, {}, [](const Arguments& a, const Attributes&) {
    if (a[1].empty()) throw unimplemented("Where", "a value for either case is expected");
    return Element(ops::where(a[0].leaf(), a[1].leaf(), a[2].leaf()));
  });
  add_operation("numpy", "Clip", {"x"}, {"x_min", "x_max"}, [](const Arguments& a, const Attributes& config) {
    return Element(ops::clip(a[0].leaf(), number_of(config, "x_min"), number_of(config, "x_max")));
  });
  add_operation("numpy", "Digitize", {"x", "bins"}, {}, digitized);
  add_operation("numpy", "NanToNum", {"x"}, {"nan", "posinf", "neginf"},
                [](const Arguments& a, const Attributes& config) {
                  return Element(ops::nan_to_num(a[0].leaf(), number_of(config, "nan"),
                                                 operations::optional_number(config, "posinf"),
                                                 operations::optional_number(config, "neginf")));
                });
  add_operation(
      "numpy", "Isclose", {"x1", "x2", "rtol", "atol"}, {"equal_nan"},
      [](const Arguments& a, const Attributes& config) {
        return Element(ops::isclose(a[0].leaf(), a[1].leaf(), number_of(config, "rtol", 1e-5),
                                    number_of(config, "atol", 1e-8), operations::bool_of(config, "equal_nan")));
      });
  add_operation("numpy", "Select", {"condlist", "choicelist", "default"}, {}, selected);
  add_operation("core", "Cast", {"x"}, {"dtype"},
                [](const Arguments& a, const Attributes& config) { return cast_if_given(a[0].leaf(), config); });
  // Keras makes these where it works out masks: their dtype may be null, which leaves the tensor's own.
  add_operation("core", "ConvertToTensor", {"x"}, {"dtype", "sparse", "ragged"},
                [](const Arguments& a, const Attributes& config) { return cast_if_given(a[0].leaf(), config); });
  add_operation("numpy", "Array", {"x"}, {"dtype"},
                [](const Arguments& a, const Attributes& config) { return cast_if_given(a[0].leaf(), config); });
  add_operation("core", "SaturateCast", {"x"}, {"dtype"}, [](const Arguments& a, const Attributes& config) {
    return Element(ops::saturate_cast(a[0].leaf(), operations::dtype_of(config, DType::Float32)));
  });
  return true;
}();

Attributes dtype_field(DType dtype) { return {{"dtype", std::string(to_string(dtype))}}; }

}  // namespace

namespace ops {

using operations::argument_of;
using operations::call_one;

#define COHORT_ROW(function, keras) COHORT_SYMBOL_OF_ONE(function, "numpy>" #keras)
COHORT_FUNCTIONS_OF_ONE(COHORT_ROW)
#undef COHORT_ROW
#define COHORT_ROW(function, keras) COHORT_SYMBOL_OF_TWO(function, "numpy>" #keras)
COHORT_FUNCTIONS_OF_TWO(COHORT_ROW)
#undef COHORT_ROW
#undef COHORT_FUNCTIONS_OF_ONE
#undef COHORT_FUNCTIONS_OF_TWO
COHORT_SYMBOL_OF_ONE(stop_gradient, "core>StopGradient")

SymbolicTensor round(const SymbolicTensor& x, int decimals) {
  return call_one("numpy>Round", {x}, {{"decimals", decimals}});
}
SymbolicTensor isclose(const SymbolicTensor& x1, const SymbolicTensor& x2, double rtol, double atol, bool equal_nan) {
  return isclose(x1, SymbolicOperand(x2), rtol, atol, equal_nan);
}
SymbolicTensor isclose(const SymbolicTensor& x1, const SymbolicOperand& x2, double rtol, double atol, bool equal_nan) {
  return call_one("numpy>Isclose", {x1, argument_of(x2), rtol, atol}, {{"equal_nan", equal_nan}});
}
SymbolicTensor nan_to_num(const SymbolicTensor& x, double nan, std::optional<double> posinf,
                          std::optional<double> neginf) {
  Attributes config{{"nan", nan}};
  if (posinf) config.set("posinf", *posinf);
  if (neginf) config.set("neginf", *neginf);
  return call_one("numpy>NanToNum", {x}, config);
}
SymbolicTensor clip(const SymbolicTensor& x, double minimum, double maximum) {
  return call_one("numpy>Clip", {x}, {{"x_min", minimum}, {"x_max", maximum}});
}
// Keras's Clip keeps its bounds in the config, which holds no tensors: as two operations a file can have them.
SymbolicTensor clip(const SymbolicTensor& x, const SymbolicOperand& lowest, const SymbolicOperand& highest) {
  return minimum(maximum(x, lowest), highest);
}
SymbolicTensor digitize(const SymbolicTensor& x, const std::vector<double>& bins) {
  return call_one("numpy>Digitize", {x, Tensor::of(bins, {static_cast<std::int64_t>(bins.size())})});
}
SymbolicTensor cast(const SymbolicTensor& x, DType dtype) { return call_one("core>Cast", {x}, dtype_field(dtype)); }
SymbolicTensor saturate_cast(const SymbolicTensor& x, DType dtype) {
  return call_one("core>SaturateCast", {x}, dtype_field(dtype));
}
SymbolicTensor convert_to_tensor(const SymbolicTensor& x, std::optional<DType> dtype) {
  return call_one("core>ConvertToTensor", {x}, dtype ? dtype_field(*dtype) : Attributes());
}
SymbolicTensor where(const SymbolicTensor& condition, const SymbolicTensor& a, const SymbolicTensor& b) {
  return call_one("numpy>Where", {condition, a, b});
}
SymbolicTensor where(const SymbolicTensor& condition, const SymbolicTensor& a, const SymbolicOperand& b) {
  return call_one("numpy>Where", {condition, a, argument_of(b)});
}
SymbolicTensor where(const SymbolicTensor& condition, const SymbolicOperand& a, const SymbolicTensor& b) {
  return call_one("numpy>Where", {condition, argument_of(a), b});
}
SymbolicTensor where(const SymbolicTensor& condition, const SymbolicOperand& a, const SymbolicOperand& b) {
  return call_one("numpy>Where", {condition, argument_of(a), argument_of(b)});
}
SymbolicTensor select(const std::vector<SymbolicTensor>& condlist, const std::vector<SymbolicTensor>& choicelist,
                      const SymbolicOperand& otherwise) {
  return call_one("numpy>Select", {condlist, choicelist, argument_of(otherwise)});
}

}  // namespace ops
}  // namespace cohort
