#include "cohort/model/symbols/operation.h"
#include "cohort/ops/array.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"

// Keras's operations of one and of two tensors without further arguments.
namespace cohort {
namespace {

using Unary = Tensor (*)(const Tensor&);
using Binary = Tensor (*)(const Tensor&, const Tensor&);

void add_unary(const char* module, const char* name, Unary function, const char* argument = "x") {
  register_operation({std::string("keras.src.ops.") + module,
                      name,
                      {argument},
                      {},
                      [function](const std::vector<Element>& arguments, const Attributes&) {
                        return Element(function(arguments[0].leaf()));
                      }});
}

void add_binary(const char* name, Binary function) {
  register_operation({"keras.src.ops.numpy",
                      name,
                      {"x1", "x2"},
                      {},
                      [function](const std::vector<Element>& arguments, const Attributes&) {
                        return Element(function(arguments[0].leaf(), arguments[1].leaf()));
                      }});
}

const bool elementwise_registered = [] {
  const std::vector<std::pair<const char*, Binary>> binary = {
      {"Add", ops::add},
      {"Subtract", ops::subtract},
      {"Multiply", ops::multiply},
      {"Divide", ops::divide},
      {"TrueDivide", ops::divide},
      {"FloorDivide", ops::floor_divide},
      {"Mod", ops::mod},
      {"Power", ops::pow},
      {"Maximum", ops::maximum},
      {"Minimum", ops::minimum},
      {"Arctan2", ops::atan2},
      {"Equal", ops::equal},
      {"NotEqual", ops::not_equal},
      {"Less", ops::less},
      {"LessEqual", ops::less_equal},
      {"Greater", ops::greater},
      {"GreaterEqual", ops::greater_equal},
      {"LogicalAnd", ops::logical_and},
      {"LogicalOr", ops::logical_or},
      {"LogicalXor", ops::logical_xor},
      {"Matmul", [](const Tensor& a, const Tensor& b) { return ops::matmul(a, b); }},
      {"Dot", ops::dot},
  };
  for (const auto& [name, function] : binary) add_binary(name, function);
  const std::vector<std::pair<const char*, Unary>> unary = {
      {"LogicalNot", ops::logical_not},
      {"Negative", ops::negative},
      {"Absolute", ops::abs},
      {"Sign", ops::sign},
      {"Square", ops::square},
      {"Sqrt", ops::sqrt},
      {"Reciprocal", ops::reciprocal},
      {"Exp", ops::exp},
      {"Expm1", ops::expm1},
      {"Log", ops::log},
      {"Log1p", ops::log1p},
      {"Log2", ops::log2},
      {"Log10", ops::log10},
      {"Sin", ops::sin},
      {"Cos", ops::cos},
      {"Tan", ops::tan},
      {"Arcsin", ops::asin},
      {"Arccos", ops::acos},
      {"Arctan", ops::atan},
      {"Sinh", ops::sinh},
      {"Cosh", ops::cosh},
      {"Tanh", ops::tanh},
      {"Arcsinh", ops::asinh},
      {"Arccosh", ops::acosh},
      {"Arctanh", ops::atanh},
      {"Floor", ops::floor},
      {"Ceil", ops::ceil},
      {"Trunc", ops::trunc},
      {"Isnan", ops::is_nan},
      {"Isinf", ops::is_inf},
      {"Isfinite", ops::is_finite},
  };
  for (const auto& [name, function] : unary) add_unary("numpy", name, function);
  add_unary("math", "Rsqrt", ops::rsqrt);
  add_unary("math", "Erf", ops::erf);
  add_unary("math", "Erfc", ops::erfc);
  add_unary("nn", "Sigmoid", ops::sigmoid);
  add_unary("nn", "Softplus", ops::softplus);
  add_unary("nn", "Relu", ops::relu);
  add_unary("nn", "Relu6", ops::relu6);
  add_unary("core", "StopGradient", ops::stop_gradient, "variable");
  return true;
}();

}  // namespace
}  // namespace cohort
