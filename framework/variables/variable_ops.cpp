#include "cohort/core/op.h"

namespace cohort {
namespace {

Specs no_outputs(const OpCall& call) {
  call.check(call.dtype(0) == DType::Resource, "input 0 is the variable", {{"input", call.spec(0)}});
  return {};
}

COHORT_OP("ReadVariable")
    .inputs(1)
    .reads()
    .alias()
    .infer([](const OpCall& call) -> Specs {
      call.check(call.dtype(0) == DType::Resource, "input 0 is the variable", {{"input", call.spec(0)}});
      return {{call.attr<DType>("dtype"), call.attr<Shape>("shape")}};
    })
    // The gradient belongs to the variable: the tape gathers it by resource.
    .gradient([](const OpCall&, const Tensor& dy) -> Tensors { return {dy}; });

// A read that must keep its value across a later write; made by a pass.
COHORT_OP("CopyVariable")
    .inputs(1)
    .reads()
    .infer([](const OpCall& call) -> Specs {
      return {{call.attr<DType>("dtype"), call.attr<Shape>("shape")}};
    })
    .not_differentiable();

COHORT_OP("AssignVariable").inputs(2).writes().infer(no_outputs).not_differentiable();
COHORT_OP("AssignAddVariable").inputs(2).writes().infer(no_outputs).not_differentiable();
COHORT_OP("AssignSubVariable").inputs(2).writes().infer(no_outputs).not_differentiable();
// (variable, indices, values): row indices[i] += values[i].
COHORT_OP("ScatterAddVariable").inputs(3).attr("rows", 0).writes().infer(no_outputs).not_differentiable();

}  // namespace
}  // namespace cohort
