#include <cmath>
#include <numbers>

#include "cohort/model/activations.h"
#include "cohort/model/symbols/operation_table.h"
#include "cohort/ops/array.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/einsum.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/reduce.h"
#include "cohort/ops/slicing.h"

// Keras's functions of one and of two tensors that are made of others.
namespace cohort::operations {
namespace {

using OneTensor = Tensor (*)(const Tensor&);
using TwoTensors = Tensor (*)(const Tensor&, const Tensor&);

void add_function(const char* module, const char* name, OneTensor function) {
  add_operation(module, name, {"x"}, {},
                [function](const Arguments& a, const Attributes&) { return Element(function(a[0].leaf())); });
}

void add_function(const char* module, const char* name, TwoTensors function) {
  add_operation(module, name, {"x1", "x2"}, {}, [function](const Arguments& a, const Attributes&) {
    return Element(function(a[0].leaf(), a[1].leaf()));
  });
}

Tensor sinc(const Tensor& x) {
  const Tensor at_zero = ops::equal(x, 0.0), safe = ops::where(at_zero, ops::ones_like(x), x) * std::numbers::pi;
  return ops::where(at_zero, ops::ones_like(x), ops::sin(safe) / safe);
}

Tensor cube_root(const Tensor& x) { return ops::sign(x) * ops::pow(ops::abs(x), 1.0 / 3.0); }

// log(e^a + e^b) without leaving the range of the type; equal infinities stay what they are.
Tensor logaddexp(const Tensor& a, const Tensor& b) {
  const Tensor difference = a - b;
  return ops::where(ops::is_nan(difference), a + b, ops::maximum(a, b) + ops::log1p(ops::exp(-ops::abs(difference))));
}

Tensor divide_no_nan(const Tensor& a, const Tensor& b) {
  const Tensor zero = ops::equal(b, 0.0);
  return ops::where(zero, ops::zeros_like(a / b), a / ops::where(zero, ops::ones_like(b), b));
}

// What is not a number gives way to the other one.
Tensor fmax(const Tensor& a, const Tensor& b) {
  return ops::where(ops::is_nan(a), b, ops::where(ops::is_nan(b), a, ops::maximum(a, b)));
}
Tensor fmin(const Tensor& a, const Tensor& b) {
  return ops::where(ops::is_nan(a), b, ops::where(ops::is_nan(b), a, ops::minimum(a, b)));
}

Tensor outer(const Tensor& a, const Tensor& b) {
  return ops::expand_dims(ops::reshape(a, {-1}), 1) * ops::expand_dims(ops::reshape(b, {-1}), 0);
}

// Over the last axes of both.
Tensor inner(const Tensor& a, const Tensor& b) { return ops::tensordot(a, b, {-1}, {-1}); }

Tensor relu_with_options(const Tensor& x, const Attributes& config) {
  const std::optional<double> largest =
      config.has("max_value") ? std::optional(number_of(config, "max_value")) : std::nullopt;
  return activations::relu(x, number_of(config, "negative_slope"), largest, number_of(config, "threshold"));
}

void add_activation(const char* name, const std::vector<std::string>& fields,
                    Tensor (*function)(const Tensor&, const Attributes&)) {
  std::vector<OperationField> kinds;
  for (const std::string& field : fields) kinds.push_back({field, OperationField::Kind::Any});
  register_operation(
      {"keras.src.activations.activations",
       name,
       {"x"},
       std::move(kinds),
       [function](const Arguments& a, const Attributes& config) { return Element(function(a[0].leaf(), config)); }});
}

[[maybe_unused]] const bool functions_registered = [] {
  const std::vector<std::pair<const char*, OneTensor>> of_one = {
      {"Abs", ops::abs},
      {"Fabs", [](const Tensor& x) { return ops::abs(ops::to_floating(x)); }},
      {"Cbrt", cube_root},
      {"Conj", ops::identity},
      {"Conjugate", ops::identity},
      {"Copy", ops::identity},
      {"Real", ops::identity},
      {"Positive", ops::identity},
      {"Deg2rad", [](const Tensor& x) { return x * (std::numbers::pi / 180.0); }},
      {"Rad2deg", [](const Tensor& x) { return x * (180.0 / std::numbers::pi); }},
      {"Exp2", [](const Tensor& x) { return ops::exp(x * std::numbers::ln2); }},
      {"Sinc", sinc},
      {"Isposinf", [](const Tensor& x) { return ops::equal(x, INFINITY); }},
      {"Isneginf", [](const Tensor& x) { return ops::equal(x, -INFINITY); }},
      {"Fliplr", [](const Tensor& x) { return ops::flip(x, {1}); }},
      {"Flipud", [](const Tensor& x) { return ops::flip(x, {0}); }},
  };
  for (const auto& [name, function] : of_one) add_function("numpy", name, function);
  const std::vector<std::pair<const char*, TwoTensors>> of_two = {
      {"Hypot", [](const Tensor& a, const Tensor& b) { return ops::sqrt(ops::square(a) + ops::square(b)); }},
      {"Logaddexp", logaddexp},
      {"Logaddexp2",
       [](const Tensor& a, const Tensor& b) {
         return logaddexp(a * std::numbers::ln2, b * std::numbers::ln2) * (1.0 / std::numbers::ln2);
       }},
      {"Heaviside",
       [](const Tensor& a, const Tensor& b) {
         return ops::where(ops::equal(a, 0.0), b, ops::cast(ops::greater(a, 0.0), a.dtype()));
       }},
      {"DivideNoNan", divide_no_nan},
      {"Fmax", fmax},
      {"Fmin", fmin},
      {"Fmod", [](const Tensor& a, const Tensor& b) { return a - ops::trunc(a / b) * b; }},
      {"Outer", outer},
      {"Inner", inner},
      {"Vdot",
       [](const Tensor& a, const Tensor& b) { return ops::sum(ops::reshape(a, {-1}) * ops::reshape(b, {-1})); }},
  };
  for (const auto& [name, function] : of_two) add_function("numpy", name, function);
  add_operation(
      "numpy", "NanToNum", {"x"}, {"nan", "posinf", "neginf"}, [](const Arguments& a, const Attributes& config) {
        Tensor x =
            ops::where(ops::is_nan(a[0].leaf()), ops::full_like(a[0].leaf(), number_of(config, "nan")), a[0].leaf());
        const double largest = x.dtype() == DType::Float64 ? 1.7976931348623157e308 : 3.4028234663852886e38;
        x = ops::where(ops::equal(x, INFINITY), ops::full_like(x, number_of(config, "posinf", largest)), x);
        return Element(
            ops::where(ops::equal(x, -INFINITY), ops::full_like(x, number_of(config, "neginf", -largest)), x));
      });
  add_operation("numpy", "Isclose", {"x1", "x2", "rtol", "atol"}, {"equal_nan"},
                [](const Arguments& a, const Attributes& config) {
                  const Tensor &x = a[0].leaf(), &y = a[1].leaf();
                  const Tensor bound = number_of(config, "rtol", 1e-5) * ops::abs(y) + number_of(config, "atol", 1e-8);
                  Tensor close = ops::logical_or(ops::equal(x, y), ops::less_equal(ops::abs(x - y), bound));
                  if (truth_of(config, "equal_nan")) {
                    close = ops::logical_or(close, ops::logical_and(ops::is_nan(x), ops::is_nan(y)));
                  }
                  return Element(close);
                });
  add_operation("core", "SaturateCast", {"x"}, {"dtype"}, [](const Arguments& a, const Attributes& config) {
    const DType dtype = dtype_from_string(text_of(config, "dtype", "float32"));
    Tensor x = a[0].leaf();
    if (dtype == DType::UInt8) x = ops::clip(x, 0, 255);
    if (dtype == DType::Int8) x = ops::clip(x, -128, 127);
    return Element(ops::cast(x, dtype));
  });
  add_activation("ReLU", {"negative_slope", "max_value", "threshold"}, relu_with_options);
  add_activation("Mish", {}, [](const Tensor& x, const Attributes&) { return activations::mish(x); });
  return true;
}();

}  // namespace
}  // namespace cohort::operations
