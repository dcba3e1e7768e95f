#include "cohort/ops/gelu.h"

#include <cmath>
#include <numbers>

#include "cohort/core/dispatch.h"
#include "cohort/core/op.h"
#include "cohort/ops/math.h"

namespace cohort::ops {
namespace {

COHORT_OP("Gelu")  // x -> x * Phi(x), and its slope Phi(x) + x * phi(x)
    .inputs(1)
    .infer([](const OpCall& call) -> Specs {
      call.check(is_floating(call.dtype(0)), "the input must be floating", {{"input.dtype", call.dtype(0)}});
      return {call.spec(0), call.spec(0)};
    })
    .gradient([](const OpCall& call, std::span<const Tensor> dy) -> Tensors {
      const Tensor& x = call.input(0);
      Tensor dx;
      if (dy[0].defined()) dx = dy[0] * call.output(1);
      if (dy[1].defined()) {
        const Tensor curved = dy[1] * ((2.0 - x * x) * exp(x * x * -0.5) * 0.3989422804014327);
        dx = dx.defined() ? dx + curved : curved;
      }
      return {dx};
    });

}  // namespace

Tensor gelu(const Tensor& x, bool approximate) {
  const Tensor real = to_floating(x);
  if (!approximate) return run_op_all("Gelu", {real})[0];
  const double scale = std::sqrt(2.0 / std::numbers::pi);
  return real * 0.5 * (tanh((real + real * real * real * 0.044715) * scale) + 1.0);
}

}  // namespace cohort::ops
