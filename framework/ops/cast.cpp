#include "cohort/ops/cast.h"

#include "cohort/core/dispatch.h"

namespace cohort::ops {

COHORT_OP("Cast")
    .inputs(1)
    .infer([](const OpCall& call) -> Specs {
      const DType target = call.attr<DType>("dtype");
      call.check(is_plain(call.dtype(0)) && is_plain(target), "types must be numbers or bool",
                 {{"x.dtype", call.dtype(0)}, {"dtype", target}});
      return {{target, call.shape(0)}};
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Gradients {
      if (!is_floating(call.output(0).dtype()) || !is_floating(call.input(0).dtype())) return {Gradient()};
      return {cast(dy, call.input(0).dtype())};
    })
    .elementwise();

Tensor cast(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return run_op("Cast", {x}, {{"dtype", dtype}});
}

Tensor to_floating(const Tensor& x) { return is_floating(x.dtype()) ? x : cast(x, DType::Float32); }

}  // namespace cohort::ops
