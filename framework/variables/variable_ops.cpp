#include "cohort/core/op.h"

namespace cohort {
namespace {

// What the call says of the variable that is its input 0.
TensorSpec variable_of(const OpCall& call) {
  call.check(call.dtype(0) == DType::Resource, "input 0 is the variable", {{"input", call.spec(0)}});
  return {call.attr<DType>("dtype"), call.attr<Shape>("shape")};
}
Specs infer_read(const OpCall& call) { return {variable_of(call)}; }
VariableClaims claims_of_variable(const OpCall& call) { return {{0, variable_of(call)}}; }

// Shapes met while tracing may be unknown; what reaches the variable's memory must fit it.
Specs infer_assign(const OpCall& call) {
  const TensorSpec variable = variable_of(call);
  call.check(call.dtype(1) == variable.dtype && call.shape(1).compatible(variable.shape),
             "the value must have the variable's type and shape", {{"value", call.spec(1)}, {"variable", variable}});
  return {};
}

// (variables, values): variable i gains factors[i] times values[i], or times what reductions[i] makes of values[i].
int additions_of(const OpCall& call) { return call.num_inputs() / 2; }
Specs infer_additions(const OpCall& call) {
  const int count = additions_of(call);
  const auto factors = call.attr<std::vector<double>>("factors");
  const auto reductions = call.attr<std::vector<std::string>>("reductions");
  call.check(call.num_inputs() == 2 * count && factors.size() == static_cast<std::size_t>(count) &&
                 reductions.size() == static_cast<std::size_t>(count),
             "there must be a value, a factor and a reduction for each variable",
             {{"inputs", call.num_inputs()}, {"factors", factors.size()}, {"reductions", reductions.size()}});
  for (int i = 0; i < count; ++i) {
    call.check(call.dtype(i) == DType::Resource, "variables must come before values", {{"input", call.spec(i)}});
    const DType dtype = call.dtype(count + i);
    const bool real = dtype == DType::Float32 || dtype == DType::Float64;
    call.check(real || dtype == DType::Int32 || dtype == DType::Int64,
               "values must be float32, float64, int32 or int64", {{"value", call.spec(count + i)}});
    const double factor = factors[static_cast<std::size_t>(i)];
    const std::string& reduction = reductions[static_cast<std::size_t>(i)];
    call.check(reduction.empty() || reduction == "Sum" || reduction == "Mean", "a reduction is \"\", Sum or Mean",
               {{"reduction", reduction}});
    call.check(real || (reduction.empty() && (factor == 1 || factor == -1)),
               "integers are added or subtracted as they are", {{"factor", factor}, {"reduction", reduction}});
  }
  return {};
}
VariableClaims claims_of_additions(const OpCall& call) {
  const int count = additions_of(call);
  const auto reductions = call.attr<std::vector<std::string>>("reductions");
  VariableClaims claims;
  for (int i = 0; i < count; ++i) {
    const TensorSpec& value = call.spec(count + i);
    claims.push_back({i, reductions[static_cast<std::size_t>(i)].empty() ? value : TensorSpec{value.dtype, {}}});
  }
  return claims;
}

Specs infer_scatter(const OpCall& call) {
  const TensorSpec variable = variable_of(call);
  const bool integers = call.dtype(1) == DType::Int32 || call.dtype(1) == DType::Int64;
  call.check(integers && call.rank(1) == 1 && variable.shape.rank() > 0,
             "indices must be a list of rows, int32 or int64", {{"indices", call.spec(1)}, {"variable", variable}});
  Shape rows = variable.shape;
  rows[0] = call.shape(1)[0];
  call.check(call.dtype(2) == variable.dtype && call.shape(2).compatible(rows),
             "there must be one row of values for each index",
             {{"values", call.spec(2)}, {"expected", TensorSpec{variable.dtype, rows}}});
  return {};
}

COHORT_OP("ReadVariable")
    .inputs(1)
    .reads()
    .alias()
    .infer(infer_read)
    .claims(claims_of_variable)
    // The gradient belongs to the variable: the tape gathers it by resource.
    .gradient([](const OpCall&, const Tensor& dy) -> Tensors { return {dy}; });

// A read that must keep its value across a later write; made by a pass.
COHORT_OP("CopyVariable").inputs(1).reads().infer(infer_read).claims(claims_of_variable).not_differentiable();

COHORT_OP("AssignVariable").inputs(2).writes().infer(infer_assign).claims(claims_of_variable).not_differentiable();
COHORT_OP("AssignAddVariable").inputs(2).writes().infer(infer_assign).claims(claims_of_variable).not_differentiable();
COHORT_OP("AssignSubVariable").inputs(2).writes().infer(infer_assign).claims(claims_of_variable).not_differentiable();
// Several additions to different variables in one, made by a pass.
COHORT_OP("AssignAddVariables")
    .inputs(2, -1)
    .writes()
    .infer(infer_additions)
    .claims(claims_of_additions)
    .not_differentiable();
// (variable, indices, values): row indices[i] += values[i].
COHORT_OP("ScatterAddVariable")
    .inputs(3)
    .checks()
    .writes()
    .infer(infer_scatter)
    .claims(claims_of_variable)
    .not_differentiable();

}  // namespace
}  // namespace cohort
