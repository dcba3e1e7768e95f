#include "cohort/ops/creation.h"

#include <cmath>

#include "cohort/core/dispatch.h"
#include "cohort/core/op.h"

namespace cohort::ops {
namespace {

COHORT_OP("Fill")
    .inputs(0)
    .attr("dtype", DType::Float32)
    .infer([](const OpCall& call) -> Specs {
      const Shape shape = call.attr<Shape>("shape");
      call.check(shape.fully_known(), "every axis of the shape must be known", {{"shape", shape}});
      return {{call.attr<DType>("dtype"), shape}};
    })
    .not_differentiable();

Specs infer_like(const OpCall& call) { return same_as(call.spec(0)); }

COHORT_OP("FullLike").inputs(1).infer(infer_like).not_differentiable();
COHORT_OP("ZerosLike").inputs(1).attr("value", 0.0).infer(infer_like).not_differentiable();
COHORT_OP("OnesLike").inputs(1).attr("value", 1.0).infer(infer_like).not_differentiable();

Specs infer_sequence(const OpCall& call) {
  const auto count = call.attr<std::int64_t>("count");
  call.check(count >= 0, "the number of elements must not be negative", {{"count", count}});
  return {{call.attr<DType>("dtype"), {count}}};
}

COHORT_OP("Range").inputs(0).attr("dtype", DType::Int32).infer(infer_sequence).not_differentiable();
COHORT_OP("Linspace").inputs(0).attr("dtype", DType::Float32).infer(infer_sequence).not_differentiable();

COHORT_OP("Eye")
    .inputs(0)
    .attr("dtype", DType::Float32)
    .attr("k", 0)
    .infer([](const OpCall& call) -> Specs {
      return {{call.attr<DType>("dtype"), {call.attr<std::int64_t>("n"), call.attr<std::int64_t>("m")}}};
    })
    .not_differentiable();

}  // namespace

Tensor full(const Shape& shape, double value, DType dtype) {
  return run_op("Fill", {}, {{"shape", shape}, {"dtype", dtype}, {"value", value}});
}
Tensor zeros(const Shape& shape, DType dtype) { return full(shape, 0, dtype); }
Tensor ones(const Shape& shape, DType dtype) { return full(shape, 1, dtype); }
Tensor full_like(const Tensor& x, double value) { return run_op("FullLike", {x}, {{"value", value}}); }
Tensor zeros_like(const Tensor& x) { return run_op("ZerosLike", {x}); }
Tensor ones_like(const Tensor& x) { return run_op("OnesLike", {x}); }

Tensor arange(double start, double stop, double step, DType dtype) {
  if (step == 0) throw invalid_argument("arange", "step must not be 0", {{"step", step}});
  const auto count = static_cast<std::int64_t>(std::max(0.0, std::ceil((stop - start) / step)));
  return run_op("Range", {}, {{"start", start}, {"step", step}, {"count", count}, {"dtype", dtype}});
}

Tensor linspace(double start, double stop, std::int64_t num, DType dtype) {
  return run_op("Linspace", {}, {{"start", start}, {"stop", stop}, {"count", num}, {"dtype", dtype}});
}

Tensor eye(std::int64_t n, std::int64_t m, std::int64_t k, DType dtype) {
  return run_op("Eye", {}, {{"n", n}, {"m", m < 0 ? n : m}, {"k", k}, {"dtype", dtype}});
}

}  // namespace cohort::ops
