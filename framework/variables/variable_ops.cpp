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
