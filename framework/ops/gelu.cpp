#include "cohort/ops/gelu.h"

#include <cmath>
#include <numbers>

#include "cohort/core/dispatch.h"
#include "cohort/core/op.h"
#include "cohort/ops/math.h"

namespace cohort::ops {
namespace {

// d slope / dx of x * Phi(x).
Tensor curvature(const Tensor& x) { return (2.0 - x * x) * exp(x * x * -0.5) * 0.3989422804014327; }

// The same of x * (1 + t) / 2 with t = tanh(u), u = scale * (x + cube * x^3).
Tensor curvature_by_tanh(const Tensor& x) {
  const double scale = std::sqrt(2.0 / std::numbers::pi), cube = 0.044715;
  const Tensor square = x * x, t = tanh((square * cube + 1.0) * x * scale), flat = 1.0 - t * t;
  const Tensor steepness = (square * (3.0 * cube) + 1.0) * scale;
  return flat * (steepness + x * (x * (3.0 * scale * cube) - t * steepness * steepness));
}

COHORT_OP("Gelu")  // x -> x * Phi(x), and its slope Phi(x) + x * phi(x); approximate: with a tanh in place of Phi
    .inputs(1)
    .attr("approximate", false)
    .infer([](const OpCall& call) -> Specs {
      call.check(is_floating(call.dtype(0)), "the input must be floating", {{"input.dtype", call.dtype(0)}});
      return {call.spec(0), call.spec(0)};
    })
    .gradient([](const OpCall& call, std::span<const Tensor> dy) -> Tensors {
      const Tensor& x = call.input(0);
      Tensor dx;
      if (dy[0].defined()) dx = dy[0] * call.output(1);
      if (dy[1].defined()) {
        const Tensor curved = dy[1] * (call.attr<bool>("approximate") ? curvature_by_tanh(x) : curvature(x));
        dx = dx.defined() ? dx + curved : curved;
      }
      return {dx};
    });

}  // namespace

Tensor gelu(const Tensor& x, bool approximate) {
  return run_op_all("Gelu", {to_floating(x)}, {{"approximate", approximate}})[0];
}

}  // namespace cohort::ops
