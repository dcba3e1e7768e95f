#include "cohort/model/symbols/operation_axes.h"
#include "cohort/model/symbols/operation_table.h"
#include "cohort/model/symbols/symbolic_ops.h"
#include "cohort/ops/array.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/cumulative.h"
#include "cohort/ops/einsum.h"
#include "cohort/ops/indexing.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/nn.h"
#include "cohort/ops/sorting.h"

// Keras's operations along axes: reductions, running sums, softmax, one-hot; and those with plain arguments.
namespace cohort {
namespace {

using operations::add_typed_operation;
using operations::Arguments;
using operations::Integers;
using Kind = OperationField::Kind;
using Reduction = Tensor (*)(const Tensor&, const ops::Axes&, bool);
using AxisFunction = Tensor (*)(const Tensor&, int);

const OperationField kAxis{"axis", Kind::Integer}, kAnyAxis{"axis", Kind::OptionalInteger},
    kAxes{"axis", Kind::OptionalIntegers}, kKeepDims{"keepdims", Kind::Bool};

void add_reduction(const char* module, const char* name, Reduction function) {
  std::vector<OperationField> fields = {kAxes, kKeepDims};
  // Keras's max and min also take a value to begin with, which is always saved as null.
  const std::string_view text = name;
  if (text == "Max" || text == "Min") fields.push_back({"initial", Kind::OptionalInteger});
  add_typed_operation(module, name, {"x"}, std::move(fields), [function](const Arguments& a, const Attributes& config) {
    return Element(function(a[0].leaf(), config.get<Integers>("axis", {}), config.get<bool>("keepdims", false)));
  });
}

void add_arg(const char* name, Tensor (*function)(const Tensor&, int, bool)) {
  add_typed_operation(
      "numpy", name, {"x"}, {kAnyAxis, kKeepDims}, [function](const Arguments& a, const Attributes& config) {
        const Tensor index =
            function(flat_without_axis(a[0].leaf(), config), axis_of(config), config.get<bool>("keepdims"));
        return Element(ops::cast(index, DType::Int32));
      });
}

void add_along(const char* module, const char* name, const OperationField& axis, AxisFunction function) {
  std::vector<OperationField> fields = {axis};
  const std::string_view text = name;
  if (text.starts_with("Cum")) fields.push_back({"dtype", Kind::OptionalInteger});  // null
  add_typed_operation(module, name, {"x"}, std::move(fields), [function](const Arguments& a, const Attributes& config) {
    return Element(function(flat_without_axis(a[0].leaf(), config), axis_of(config)));
  });
}

const bool reductions_registered = [] {
  const std::vector<std::pair<const char*, Reduction>> reductions = {
      {"Sum", ops::sum}, {"Mean", ops::mean},    {"Prod", ops::prod},
      {"Max", ops::max}, {"Min", ops::min},      {"Any", ops::any},
      {"All", ops::all}, {"Var", ops::variance}, {"Std", ops::standard_deviation},
  };
  for (const auto& [name, function] : reductions) add_reduction("numpy", name, function);
  add_reduction("math", "Logsumexp", ops::logsumexp);
  add_arg("Argmax", ops::argmax);
  add_arg("Argmin", ops::argmin);
  add_along("nn", "Softmax", kAxis, ops::softmax);
  add_along("nn", "LogSoftmax", kAxis, ops::log_softmax);
  add_along("numpy", "Sort", kAxis, [](const Tensor& x, int axis) { return ops::sort(x, axis); });
  add_along("numpy", "Argsort", kAxis, [](const Tensor& x, int axis) { return ops::argsort(x, axis); });
  add_along("numpy", "Cumsum", kAnyAxis, [](const Tensor& x, int axis) { return ops::cumsum(x, axis); });
  add_along("numpy", "Cumprod", kAnyAxis, [](const Tensor& x, int axis) { return ops::cumprod(x, axis); });
  add_typed_operation("numpy", "Round", {"x"}, {{"decimals", Kind::Integer}},
                      [](const Arguments& a, const Attributes& config) {
                        double scale = 1.0;
                        for (std::int64_t i = 0; i < config.get<std::int64_t>("decimals"); ++i) scale *= 10.0;
                        return scale == 1.0 ? ops::round(a[0].leaf()) : ops::round(a[0].leaf() * scale) / scale;
                      });
  add_typed_operation("numpy", "Where", {"condition", "x1", "x2"}, {}, [](const Arguments& a, const Attributes&) {
    if (a[1].empty()) throw unimplemented("Where", "a value for either case is expected");
    return ops::where(a[0].leaf(), a[1].leaf(), a[2].leaf());
  });
  add_typed_operation("numpy", "Clip", {"x"}, {{"x_min", Kind::Number}, {"x_max", Kind::Number}},
                      [](const Arguments& a, const Attributes& config) {
                        return ops::clip(a[0].leaf(), config.get<double>("x_min"), config.get<double>("x_max"));
                      });
  add_typed_operation("core", "Cast", {"x"}, {{"dtype", Kind::Text}}, [](const Arguments& a, const Attributes& config) {
    return ops::cast(a[0].leaf(), dtype_from_string(config.get<std::string>("dtype")));
  });
  // Keras makes these where it works out masks: their dtype may be null, which leaves the tensor's own.
  const auto cast_if_given = [](const Tensor& x, const Attributes& config) {
    return config.has("dtype") ? ops::cast(x, dtype_from_string(config.get<std::string>("dtype"))) : x;
  };
  add_typed_operation(
      "core", "ConvertToTensor", {"x"},
      {{"dtype", Kind::OptionalText}, {"sparse", Kind::OptionalBool}, {"ragged", Kind::OptionalBool}},
      [cast_if_given](const Arguments& a, const Attributes& config) { return cast_if_given(a[0].leaf(), config); });
  add_typed_operation("numpy", "ZerosLike", {"x"}, {{"dtype", Kind::OptionalText}},
                      [cast_if_given](const Arguments& a, const Attributes& config) {
                        return ops::zeros_like(cast_if_given(a[0].leaf(), config));
                      });
  add_typed_operation("numpy", "OnesLike", {"x"}, {{"dtype", Kind::OptionalText}},
                      [cast_if_given](const Arguments& a, const Attributes& config) {
                        return ops::ones_like(cast_if_given(a[0].leaf(), config));
                      });
  add_typed_operation("nn", "OneHot", {"x"},
                      {{"num_classes", Kind::Integer}, kAxis, {"dtype", Kind::Text}, {"sparse", Kind::Bool}},
                      [](const Arguments& a, const Attributes& config) {
                        const std::string dtype = config.get<std::string>("dtype", "");
                        return ops::one_hot(a[0].leaf(), config.get<std::int64_t>("num_classes"), axis_of(config),
                                            dtype.empty() ? DType::Float32 : dtype_from_string(dtype));
                      });
  add_typed_operation(
      "numpy", "Tensordot", {"x1", "x2"}, {{"axes", Kind::Integer}}, [](const Arguments& a, const Attributes& config) {
        return ops::tensordot(a[0].leaf(), a[1].leaf(), static_cast<int>(config.get<std::int64_t>("axes")));
      });
  add_typed_operation("numpy", "Einsum", {"operand_1", "operand_2", "operand_3", "operand_4"},
                      {{"subscripts", Kind::Text}}, [](const Arguments& a, const Attributes& config) {
                        Tensors operands;
                        for (const Element& each : a) {
                          if (!each.empty()) operands.push_back(each.leaf());
                        }
                        return ops::einsum(config.get<std::string>("subscripts"), operands);
                      });
  return true;
}();

Attributes reduced(const ops::Axes& axes, bool keep) {
  Attributes config{{"keepdims", keep}};
  if (!axes.values.empty()) config.set("axis", axes.values);
  return config;
}

SymbolicTensor call_reduction(const char* name, const SymbolicTensor& x, const Attributes& config) {
  return call_operation(name, {x}, config).leaf();
}

}  // namespace

namespace ops {

SymbolicTensor sum(const SymbolicTensor& x, const Axes& axes, bool keep) {
  return call_reduction("numpy>Sum", x, reduced(axes, keep));
}
SymbolicTensor mean(const SymbolicTensor& x, const Axes& axes, bool keep) {
  return call_reduction("numpy>Mean", x, reduced(axes, keep));
}
SymbolicTensor prod(const SymbolicTensor& x, const Axes& axes, bool keep) {
  return call_reduction("numpy>Prod", x, reduced(axes, keep));
}
SymbolicTensor max(const SymbolicTensor& x, const Axes& axes, bool keep) {
  return call_reduction("numpy>Max", x, reduced(axes, keep));
}
SymbolicTensor min(const SymbolicTensor& x, const Axes& axes, bool keep) {
  return call_reduction("numpy>Min", x, reduced(axes, keep));
}
SymbolicTensor any(const SymbolicTensor& x, const Axes& axes, bool keep) {
  return call_reduction("numpy>Any", x, reduced(axes, keep));
}
SymbolicTensor all(const SymbolicTensor& x, const Axes& axes, bool keep) {
  return call_reduction("numpy>All", x, reduced(axes, keep));
}
SymbolicTensor logsumexp(const SymbolicTensor& x, const Axes& axes, bool keep) {
  return call_reduction("math>Logsumexp", x, reduced(axes, keep));
}
SymbolicTensor variance(const SymbolicTensor& x, const Axes& axes, bool keep) {
  return call_reduction("numpy>Var", x, reduced(axes, keep));
}
SymbolicTensor standard_deviation(const SymbolicTensor& x, const Axes& axes, bool keep) {
  return call_reduction("numpy>Std", x, reduced(axes, keep));
}
SymbolicTensor argmax(const SymbolicTensor& x, int axis, bool keep) {
  return call_reduction("numpy>Argmax", x, {{"axis", axis}, {"keepdims", keep}});
}
SymbolicTensor argmin(const SymbolicTensor& x, int axis, bool keep) {
  return call_reduction("numpy>Argmin", x, {{"axis", axis}, {"keepdims", keep}});
}
SymbolicTensor softmax(const SymbolicTensor& x, int axis) { return call_reduction("nn>Softmax", x, {{"axis", axis}}); }
SymbolicTensor log_softmax(const SymbolicTensor& x, int axis) {
  return call_reduction("nn>LogSoftmax", x, {{"axis", axis}});
}
SymbolicTensor cumsum(const SymbolicTensor& x, int axis) { return call_reduction("numpy>Cumsum", x, {{"axis", axis}}); }
SymbolicTensor cumprod(const SymbolicTensor& x, int axis) {
  return call_reduction("numpy>Cumprod", x, {{"axis", axis}});
}
SymbolicTensor sort(const SymbolicTensor& x, int axis) { return call_reduction("numpy>Sort", x, {{"axis", axis}}); }
SymbolicTensor argsort(const SymbolicTensor& x, int axis) {
  return call_reduction("numpy>Argsort", x, {{"axis", axis}});
}
SymbolicTensor round(const SymbolicTensor& x) { return call_reduction("numpy>Round", x, {{"decimals", 0}}); }
SymbolicTensor clip(const SymbolicTensor& x, double minimum, double maximum) {
  return call_reduction("numpy>Clip", x, {{"x_min", minimum}, {"x_max", maximum}});
}
SymbolicTensor cast(const SymbolicTensor& x, DType dtype) {
  return call_reduction("core>Cast", x, {{"dtype", std::string(to_string(dtype))}});
}
SymbolicTensor one_hot(const SymbolicTensor& indices, std::int64_t depth, int axis, DType dtype) {
  return call_reduction(
      "nn>OneHot", indices,
      {{"num_classes", depth}, {"axis", axis}, {"dtype", std::string(to_string(dtype))}, {"sparse", false}});
}
SymbolicTensor where(const SymbolicTensor& condition, const SymbolicTensor& a, const SymbolicTensor& b) {
  return call_operation("numpy>Where", {condition, a, b}).leaf();
}
SymbolicTensor where(const SymbolicTensor& condition, const SymbolicTensor& a, double b) {
  return call_operation("numpy>Where", {condition, a, b}).leaf();
}
SymbolicTensor where(const SymbolicTensor& condition, double a, const SymbolicTensor& b) {
  return call_operation("numpy>Where", {condition, a, b}).leaf();
}
SymbolicTensor einsum(std::string_view equation, const std::vector<SymbolicTensor>& operands) {
  return call_operation("numpy>Einsum", {operands.begin(), operands.end()}, {{"subscripts", std::string(equation)}})
      .leaf();
}
SymbolicTensor tensordot(const SymbolicTensor& x1, const SymbolicTensor& x2, int axes) {
  return call_operation("numpy>Tensordot", {x1, x2}, {{"axes", axes}}).leaf();
}

}  // namespace ops
}  // namespace cohort
