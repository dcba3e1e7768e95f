#include "cohort/ops/categories.h"

#include <algorithm>

#include "cohort/core/dispatch.h"
#include "cohort/core/op.h"
#include "cohort/ops/cast.h"

namespace cohort::ops {
namespace {

COHORT_OP("Bucketize")
    .inputs(1)
    .attr("boundaries", std::vector<double>{})
    .infer([](const OpCall& call) -> Specs {
      call.check(call.dtype(0) == DType::Float32 || call.dtype(0) == DType::Float64, "float32 or float64 is expected",
                 {{"x", call.spec(0)}});
      const auto boundaries = call.attr<std::vector<double>>("boundaries");
      call.check(std::is_sorted(boundaries.begin(), boundaries.end()), "boundaries must ascend");
      return {{DType::Int32, call.shape(0)}};
    })
    .not_differentiable();

COHORT_OP("CountCategories")
    .inputs(1, 2)
    .checks()
    .attr("depth", 1)
    .attr("binary", false)
    .attr("dtype", DType::Float32)
    .infer([](const OpCall& call) -> Specs {
      const auto depth = call.attr<std::int64_t>("depth");
      const auto dtype = call.attr<DType>("dtype");
      call.check(depth > 0, "depth must be positive", {{"depth", depth}});
      call.check(call.rank(0) > 0 && (call.dtype(0) == DType::Int32 || call.dtype(0) == DType::Int64),
                 "categories must be int32 or int64 with an axis at least", {{"categories", call.spec(0)}});
      call.check(is_floating(dtype) || is_integer(dtype), "dtype must be one of numbers", {{"dtype", dtype}});
      if (call.num_inputs() == 2) {
        call.check(call.dtype(1) == dtype && call.shape(1).compatible(call.shape(0)),
                   "weights must have the categories' shape and the result's type",
                   {{"weights", call.spec(1)}, {"categories", call.spec(0)}});
      }
      Shape shape = call.shape(0).slice(0, call.rank(0) - 1);
      shape.push_back(depth);
      return {{dtype, shape}};
    })
    .not_differentiable();

}  // namespace

Tensor bucketize(const Tensor& x, const std::vector<double>& boundaries) {
  const bool wide = x.dtype() == DType::Float64;
  return run_op("Bucketize", {wide ? x : cast(x, DType::Float32)}, {{"boundaries", boundaries}});
}

Tensor count_categories(const Tensor& categories, std::int64_t depth, bool binary, DType dtype, const Tensor& weights) {
  Tensors inputs = {categories.dtype() == DType::Int32 ? categories : cast(categories, DType::Int64)};
  if (weights.defined()) inputs.push_back(cast(weights, dtype));
  return run_op("CountCategories", inputs, {{"depth", depth}, {"binary", binary}, {"dtype", dtype}});
}

}  // namespace cohort::ops
