#include "cohort/model/symbols/operation_table.h"
#include "cohort/model/symbols/symbolic_reductions.h"
#include "cohort/ops/array.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/cumulative.h"
#include "cohort/ops/einsum.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/norms.h"
#include "cohort/ops/sorting.h"
#include "cohort/ops/statistics.h"

// Keras's operations along axes: reductions, running sums, sorting; and products.
namespace cohort {
namespace {

using operations::add_operation;
using operations::Arguments;
using operations::axes_of;
using operations::axis_of;
using operations::integer_of;
using operations::integers_of;
using operations::keeps_dims;

// X(function, module, Keras's name)
#define COHORT_REDUCTIONS(X)        \
  X(sum, numpy, Sum)                \
  X(mean, numpy, Mean)              \
  X(prod, numpy, Prod)              \
  X(max, numpy, Max)                \
  X(min, numpy, Min)                \
  X(any, numpy, Any)                \
  X(all, numpy, All)                \
  X(variance, numpy, Var)           \
  X(standard_deviation, numpy, Std) \
  X(logsumexp, math, Logsumexp)     \
  X(ptp, numpy, Ptp)                \
  X(median, numpy, Median)          \
  X(nansum, numpy, Nansum)          \
  X(nanprod, numpy, Nanprod)        \
  X(nanmean, numpy, Nanmean)        \
  X(nanmax, numpy, Nanmax)          \
  X(nanmin, numpy, Nanmin)
// X(function, Keras's name)
#define COHORT_PRODUCTS(X) \
  X(dot, Dot)              \
  X(inner, Inner)          \
  X(outer, Outer)          \
  X(vdot, Vdot)

using Reduction = Tensor (*)(const Tensor&, const ops::Axes&, bool);
using BesideNumber = Tensor (*)(const Tensor&, double);
using Running = Tensor (*)(const Tensor&, std::optional<int>, const ops::CumulativeOptions&);
using Along = Tensor (*)(const Tensor&, int, bool);
using IndexOf = Tensor (*)(const Tensor&, std::optional<int>, bool);

void add_reduction(const char* module, const char* name, Reduction function) {
  std::vector<std::string> fields = {"axis", "keepdims"};
  // Keras's max and min also take a value to begin with.
  const std::string_view text = name;
  BesideNumber with_initial = nullptr;
  if (text == "Max") with_initial = ops::maximum;
  if (text == "Min") with_initial = ops::minimum;
  if (with_initial) fields.push_back("initial");
  add_operation(module, name, {"x"}, fields, [=](const Arguments& a, const Attributes& config) {
    const Tensor result = function(a[0].leaf(), axes_of(config), keeps_dims(config));
    if (!config.has("initial")) return Element(result);
    return Element(with_initial(result, operations::number_of(config, "initial")));
  });
}

void add_index_of(const char* name, IndexOf function) {
  add_operation("numpy", name, {"x"}, {"axis", "keepdims"}, [function](const Arguments& a, const Attributes& config) {
    return Element(function(a[0].leaf(), axis_of(config), keeps_dims(config)));
  });
}

void add_running(const char* name, Running function) {
  add_operation("numpy", name, {"x"}, {"axis", "dtype"}, [function](const Arguments& a, const Attributes& config) {
    ops::CumulativeOptions options;
    if (config.has("dtype")) options.dtype = operations::dtype_of(config, DType::Float32);
    return Element(function(a[0].leaf(), axis_of(config), options));
  });
}

void add_along(const char* name, Along function) {
  add_operation("numpy", name, {"x"}, {"axis"}, [function](const Arguments& a, const Attributes& config) {
    const Tensor& x = a[0].leaf();
    return Element(config.has("axis") ? function(x, *axis_of(config), false) : function(ops::ravel(x), 0, false));
  });
}

Element tensor_product(const Arguments& a, const Attributes& config) {
  const Tensor &x1 = a[0].leaf(), &x2 = a[1].leaf();
  const AttributeValue* axes = config.find("axes");
  if (const auto* both = axes ? std::get_if<operations::Integers>(axes) : nullptr) {
    const auto middle = both->begin() + static_cast<std::ptrdiff_t>(both->size() / 2);
    return ops::tensordot(x1, x2, {both->begin(), middle}, {middle, both->end()});
  }
  return ops::tensordot(x1, x2, static_cast<int>(integer_of(config, "axes", 2)));
}

const bool reductions_registered = [] {
#define COHORT_ROW(function, module, keras) add_reduction(#module, #keras, ops::function);
  COHORT_REDUCTIONS(COHORT_ROW)
#undef COHORT_ROW
  add_reduction("numpy", "Amax", ops::max);
  add_reduction("numpy", "Amin", ops::min);
  add_index_of("Argmax", ops::argmax);
  add_index_of("Argmin", ops::argmin);
  add_running("Cumsum", ops::cumsum);
  add_running("Cumprod", ops::cumprod);
  add_along("Sort", ops::sort);
  add_along("Argsort", ops::argsort);
  add_operation("numpy", "Diff", {"a"}, {"n", "axis"}, [](const Arguments& a, const Attributes& config) {
    return Element(ops::diff(a[0].leaf(), static_cast<int>(integer_of(config, "n", 1)), axis_of(config).value_or(-1)));
  });
  add_operation("numpy", "Average", {"x", "weights"}, {"axis"}, [](const Arguments& a, const Attributes& config) {
    return Element(ops::average(a[0].leaf(), axes_of(config), operations::optional_tensor(a[1])));
  });
  add_operation("numpy", "CountNonzero", {"x"}, {"axis"}, [](const Arguments& a, const Attributes& config) {
    return Element(ops::cast(ops::count_nonzero(a[0].leaf(), axes_of(config)), DType::Int32));
  });
  add_operation("nn", "Moments", {"x"}, {"axes", "keepdims", "synchronized"},
                [](const Arguments& a, const Attributes& config) {
                  const ops::Moments found = ops::moments(a[0].leaf(), integers_of(config, "axes"), keeps_dims(config));
                  return operations::tuple_of({found.mean, found.variance});
                });
  add_operation("math", "TopK", {"x"}, {"k", "sorted"}, [](const Arguments& a, const Attributes& config) {
    const ops::TopK top = ops::top_k(a[0].leaf(), integer_of(config, "k"), operations::bool_of(config, "sorted", true));
    return operations::tuple_of({top.values, top.indices});
  });
  add_operation("nn", "Normalize", {"x"}, {"axis", "order", "epsilon"},
                [](const Arguments& a, const Attributes& config) {
                  return Element(ops::normalize(a[0].leaf(), integers_of(config, "axis", {-1}),
                                                static_cast<int>(operations::number_of(config, "order", 2.0)),
                                                operations::number_of(config, "epsilon", kEpsilon)));
                });
#define COHORT_ROW(function, keras) operations::add_of_two("numpy", #keras, ops::function);
  COHORT_PRODUCTS(COHORT_ROW)
#undef COHORT_ROW
  operations::add_of_two("numpy", "Matmul", [](const Tensor& a, const Tensor& b) { return ops::matmul(a, b); });
  operations::add_typed_operation("numpy", "Tensordot", {"x1", "x2"}, {{"axes", OperationField::Kind::SummedAxes}},
                                  tensor_product);
  add_operation("numpy", "Einsum", {"operand_1", "operand_2", "operand_3", "operand_4"}, {"subscripts"},
                [](const Arguments& a, const Attributes& config) {
                  Tensors operands;
                  for (const Element& each : a) {
                    if (!each.empty()) operands.push_back(each.leaf());
                  }
                  return Element(ops::einsum(operations::text_of(config, "subscripts"), operands));
                });
  return true;
}();

}  // namespace

namespace ops {

using operations::call_one;
using operations::with_axes;
using operations::with_axis;

#define COHORT_ROW(function, module, keras)                                                 \
  SymbolicTensor function(const SymbolicTensor& x, const Axes& axes, bool keep) {           \
    return call_one(#module ">" #keras, {x}, with_axes({{"keepdims", keep}}, axes.values)); \
  }
COHORT_REDUCTIONS(COHORT_ROW)
COHORT_ROW(amax, numpy, Amax)
COHORT_ROW(amin, numpy, Amin)
COHORT_ROW(var, numpy, Var)
COHORT_ROW(std, numpy, Std)
#undef COHORT_ROW
#define COHORT_ROW(function, keras) COHORT_SYMBOL_OF_TWO(function, "numpy>" #keras)
COHORT_PRODUCTS(COHORT_ROW)
COHORT_ROW(matmul, Matmul)
#undef COHORT_ROW
#undef COHORT_REDUCTIONS
#undef COHORT_PRODUCTS

SymbolicTensor average(const SymbolicTensor& x, const Axes& axis, const Tensor& weights) {
  return call_one("numpy>Average", {x, operations::argument_of(weights)}, with_axes({}, axis.values));
}
SymbolicTensor average(const SymbolicTensor& x, const Axes& axis, const SymbolicTensor& weights) {
  return call_one("numpy>Average", {x, weights}, with_axes({}, axis.values));
}
SymbolicTensor count_nonzero(const SymbolicTensor& x, const Axes& axis) {
  return call_one("numpy>CountNonzero", {x}, with_axes({}, axis.values));
}
SymbolicTensor argmax(const SymbolicTensor& x, std::optional<int> axis, bool keepdims) {
  return call_one("numpy>Argmax", {x}, with_axis({{"keepdims", keepdims}}, axis));
}
SymbolicTensor argmin(const SymbolicTensor& x, std::optional<int> axis, bool keepdims) {
  return call_one("numpy>Argmin", {x}, with_axis({{"keepdims", keepdims}}, axis));
}
SymbolicTensor normalize(const SymbolicTensor& x, const Axes& axis, int order, double epsilon) {
  return call_one("nn>Normalize", {x}, with_axes({{"order", order}, {"epsilon", epsilon}}, axis.values));
}
SymbolicMoments moments(const SymbolicTensor& x, const Axes& axes, bool keepdims) {
  const std::vector<SymbolicTensor> found = operations::call_several(
      "nn>Moments", {x}, {{"axes", axes.values}, {"keepdims", keepdims}, {"synchronized", false}});
  return {found.at(0), found.at(1)};
}
SymbolicTopK top_k(const SymbolicTensor& x, std::int64_t k, bool sorted) {
  const std::vector<SymbolicTensor> found = operations::call_several("math>TopK", {x}, {{"k", k}, {"sorted", sorted}});
  return {found.at(0), found.at(1)};
}

SymbolicTensor cumsum(const SymbolicTensor& x, std::optional<int> axis) {
  return call_one("numpy>Cumsum", {x}, with_axis({}, axis));
}
SymbolicTensor cumprod(const SymbolicTensor& x, std::optional<int> axis) {
  return call_one("numpy>Cumprod", {x}, with_axis({}, axis));
}
SymbolicTensor diff(const SymbolicTensor& a, int n, int axis) {
  return call_one("numpy>Diff", {a}, {{"n", n}, {"axis", axis}});
}
SymbolicTensor sort(const SymbolicTensor& x, int axis) { return call_one("numpy>Sort", {x}, {{"axis", axis}}); }
SymbolicTensor argsort(const SymbolicTensor& x, int axis) { return call_one("numpy>Argsort", {x}, {{"axis", axis}}); }
SymbolicTensor einsum(std::string_view equation, const std::vector<SymbolicTensor>& operands) {
  return call_one("numpy>Einsum", {operands.begin(), operands.end()}, {{"subscripts", std::string(equation)}});
}
SymbolicTensor tensordot(const SymbolicTensor& x1, const SymbolicTensor& x2, int axes) {
  return call_one("numpy>Tensordot", {x1, x2}, {{"axes", axes}});
}
SymbolicTensor tensordot(const SymbolicTensor& x1, const SymbolicOperand& x2, const operations::Integers& axes1,
                         const operations::Integers& axes2) {
  if (axes1.size() != axes2.size()) {
    throw invalid_argument("tensordot", "as many axes must be named for x1 as for x2",
                           {{"len(axes1)", axes1.size()}, {"len(axes2)", axes2.size()}});
  }
  operations::Integers both = axes1;
  both.insert(both.end(), axes2.begin(), axes2.end());
  return call_one("numpy>Tensordot", {x1, operations::argument_of(x2)}, {{"axes", both}});
}

}  // namespace ops
}  // namespace cohort
