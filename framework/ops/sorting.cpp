#include "cohort/ops/sorting.h"

#include "cohort/core/dispatch.h"
#include "cohort/core/op.h"

namespace cohort::ops {
namespace {

// The chosen elements' gradients go back to where they came from.
Tensors chosen_gradient(const OpCall& call, std::span<const Tensor> dys, int axis) {
  if (!dys[0].defined()) return {Tensor()};
  return {run_op("TakeAlongAxisGrad", {dys[0], call.output(1), call.input(0)}, {{"axis", axis}})};
}

COHORT_OP("TopK")
    .inputs(1)
    .infer([](const OpCall& call) -> Specs {
      const auto k = call.attr<std::int64_t>("k");
      Shape shape = call.shape(0);
      call.check(is_number(call.dtype(0)) && shape.rank() >= 1, "numbers with at least one axis are expected",
                 {{"input", call.spec(0)}});
      call.check(k >= 0 && (shape.back() == kUnknown || k <= shape.back()), "k must not exceed the last axis",
                 {{"k", k}, {"input.shape", shape}});
      shape[shape.rank() - 1] = k;
      return {{call.dtype(0), shape}, {DType::Int32, shape}};
    })
    .gradient([](const OpCall& call, std::span<const Tensor> dys) { return chosen_gradient(call, dys, -1); });

COHORT_OP("Sort")
    .inputs(1)
    .attr("axis", -1)
    .attr("descending", false)
    .infer([](const OpCall& call) -> Specs {
      normalize_axis(call.attr<int>("axis"), call.rank(0), call.name());
      return {call.spec(0), {DType::Int32, call.shape(0)}};
    })
    .gradient([](const OpCall& call, std::span<const Tensor> dys) {
      return chosen_gradient(call, dys, call.attr<int>("axis"));
    });

COHORT_OP("Unique")
    .inputs(1)
    .infer([](const OpCall& call) -> Specs {
      return {{call.dtype(0), {kUnknown}}, {DType::Int64, call.shape(0)}, {DType::Int64, {kUnknown}}};
    })
    .not_differentiable()
    .dynamic_outputs();

}  // namespace

TopK top_k(const Tensor& x, std::int64_t k, bool sorted) {
  Tensors out = run_op_all("TopK", {x}, {{"k", k}, {"sorted", sorted}});
  return {out[0], out[1]};
}
Tensor sort(const Tensor& x, int axis, bool descending) {
  return run_op("Sort", {x}, {{"axis", axis}, {"descending", descending}});
}
Tensor argsort(const Tensor& x, int axis, bool descending) {
  return run_op_all("Sort", {x}, {{"axis", axis}, {"descending", descending}})[1];
}
Unique unique(const Tensor& x) {
  Tensors out = run_op_all("Unique", {x});
  return {out[0], out[1], out[2]};
}

}  // namespace cohort::ops
