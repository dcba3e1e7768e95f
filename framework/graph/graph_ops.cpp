#include "cohort/core/op.h"

namespace cohort {
namespace {

COHORT_OP("Input")
    .inputs(0)
    .infer([](const OpCall& call) -> Specs {
      return {{call.attr<DType>("dtype"), call.attr<Shape>("shape")}};
    })
    .not_differentiable();

COHORT_OP("Constant")
    .inputs(0)
    .infer([](const OpCall& call) -> Specs { return {call.attr<Tensor>("value").spec()}; })
    .not_differentiable();

}  // namespace
}  // namespace cohort
