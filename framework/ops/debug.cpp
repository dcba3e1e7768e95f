#include "cohort/ops/debug.h"

#include "cohort/core/dispatch.h"
#include "cohort/core/op.h"

namespace cohort::ops {
namespace {

COHORT_OP("CheckNumerics")
    .inputs(1)
    .checks()
    .attr("message", "")
    .infer([](const OpCall& call) {
      call.check(is_floating(call.dtype(0)), "the input must be floating", {{"input.dtype", call.dtype(0)}});
      return same_as(call.spec(0));
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      return {check_numerics(dy, "gradient of " + call.attr<std::string>("message"))};
    })
    .stateful();

COHORT_OP("Assert")
    .inputs(1)
    .checks()
    .attr("message", "")
    .infer([](const OpCall& call) {
      call.check(call.dtype(0) == DType::Bool, "the condition must be bool", {{"condition.dtype", call.dtype(0)}});
      return same_as(call.spec(0));
    })
    .not_differentiable()
    .stateful();

}  // namespace

Tensor check_numerics(const Tensor& x, const std::string& message) {
  return run_op("CheckNumerics", {x}, {{"message", message}});
}
Tensor assert_true(const Tensor& condition, const std::string& message) {
  return run_op("Assert", {condition}, {{"message", message}});
}

}  // namespace cohort::ops
