#include "cohort/ops/indexing.h"

#include "cohort/core/dispatch.h"
#include "cohort/core/mixed_types.h"
#include "cohort/core/op.h"
#include "cohort/ops/array.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::ops {
namespace {

void check_indices(const OpCall& call, int i) {
  call.check(is_integer(call.dtype(i)), "indices must be integers", {{"indices.dtype", call.dtype(i)}});
}

// a's axes before `axis`, all of b's, then a's from `axis` + `dropped`.
Shape spliced(const Shape& a, int axis, int dropped, const Shape& b) {
  Shape result = a.slice(0, axis);
  for (std::int64_t size : b) result.push_back(size);
  for (int i = axis + dropped; i < a.rank(); ++i) result.push_back(a[i]);
  return result;
}

// The indices as one vector and the slices they belong to, one after the other.
IndexedSlices rows_of(const Tensor& values, const Tensor& indices, const Tensor& like) {
  if (indices.rank() == 1) return {values, indices, like};
  return {merge_axes(values, 0, indices.rank()), merge_axes(indices, 0, indices.rank()), like};
}

COHORT_OP("Gather")
    .inputs(2)
    .checks()
    .attr("axis", 0)
    .infer([](const OpCall& call) -> Specs {
      check_indices(call, 1);
      const int axis = normalize_axis(call.attr<int>("axis"), call.rank(0), call.name());
      const DType result = result_type(call, call.dtype(0));
      call.check(widens_to(result, call.dtype(0)), "float32 alone may be gathered as a half type",
                 {{"params.dtype", call.dtype(0)}, {kResultType, result}});
      return {{result, spliced(call.shape(0), axis, 1, call.shape(1))}};
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Gradients {
      const int axis = normalize_axis(call.attr<int>("axis"), call.rank(0), call.name());
      if (axis == 0) return {rows_of(dy, call.input(1), call.input(0)), {}};
      return {scatter_add_like(call.input(0), call.input(1), dy, axis), {}};
    });

COHORT_OP("ScatterAddLike")  // (like, indices, values)
    .inputs(3)
    .checks()
    .attr("axis", 0)
    .infer([](const OpCall& call) -> Specs {
      check_indices(call, 1);
      const int axis = normalize_axis(call.attr<int>("axis"), call.rank(0), call.name());
      const Shape expected = spliced(call.shape(0), axis, 1, call.shape(1));
      call.check(call.shape(2).compatible(expected), "one slice of values per index is expected",
                 {{"values.shape", call.shape(2)}, {"expected", expected}});
      return {{call.dtype(2), call.shape(0)}};
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      return {{}, {}, gather(dy, call.input(1), call.attr<int>("axis"))};
    });

COHORT_OP("TakeAlongAxis")
    .inputs(2)
    .checks()
    .attr("axis", -1)
    .infer([](const OpCall& call) -> Specs {
      check_indices(call, 1);
      const int axis = normalize_axis(call.attr<int>("axis"), call.rank(0), call.name());
      Shape expected = call.shape(0);
      if (call.rank(1) == call.rank(0)) expected[axis] = call.shape(1)[axis];
      call.check(call.shape(1).compatible(expected), "indices must have x's sizes off the axis",
                 {{"x.shape", call.shape(0)}, {"indices.shape", call.shape(1)}, {"axis", axis}});
      return {{call.dtype(0), call.shape(1)}};
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      return {run_op("TakeAlongAxisGrad", {dy, call.input(1), call.input(0)}, {{"axis", call.attr<int>("axis")}}), {}};
    });

COHORT_OP("TakeAlongAxisGrad")  // (dy, indices, like) -> zeros like `like` with dy added where it was taken from
    .inputs(3)
    .checks()
    .attr("axis", -1)
    .infer([](const OpCall& call) -> Specs {
      return {{call.dtype(0), call.shape(2)}};
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      return {run_op("TakeAlongAxis", {dy, call.input(1)}, {{"axis", call.attr<int>("axis")}}), {}, {}};
    });

// Shape of what positions in the last axis of `indices` pick from a tensor of shape `params`.
Shape picked(const OpCall& call, const Shape& params, const Shape& indices) {
  call.check(indices.rank() >= 1, "indices must have an axis of positions", {{"indices.shape", indices}});
  const std::int64_t depth = indices.back();
  call.check(depth >= 0 && depth <= params.rank(), "a position must name a known number of axes, at most all of them",
             {{"indices.shape", indices}, {"shape", params}});
  return spliced(indices.slice(0, indices.rank() - 1), indices.rank() - 1, 0, params.slice(static_cast<int>(depth)));
}

COHORT_OP("GatherNd")
    .inputs(2)
    .checks()
    .infer([](const OpCall& call) -> Specs {
      check_indices(call, 1);
      return {{call.dtype(0), picked(call, call.shape(0), call.shape(1))}};
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      return {run_op("ScatterNdLike", {call.input(0), call.input(1), dy}), {}};
    });

void check_updates(const OpCall& call, const Shape& target, int indices, int updates) {
  check_indices(call, indices);
  const Shape expected = picked(call, target, call.shape(indices));
  call.check(call.shape(updates).compatible(expected), "one update per position is expected",
             {{"updates.shape", call.shape(updates)}, {"expected", expected}});
}

COHORT_OP("ScatterNd")  // (indices, updates)
    .inputs(2)
    .checks()
    .infer([](const OpCall& call) -> Specs {
      const Shape shape = call.attr<Shape>("shape");
      call.check(shape.fully_known(), "every axis of the shape must be known", {{"shape", shape}});
      check_updates(call, shape, 0, 1);
      return {{call.dtype(1), shape}};
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      return {{}, gather_nd(dy, call.input(0))};
    });

COHORT_OP("ScatterNdLike")  // (like, indices, updates)
    .inputs(3)
    .checks()
    .infer([](const OpCall& call) -> Specs {
      check_updates(call, call.shape(0), 1, 2);
      return {{call.dtype(2), call.shape(0)}};
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      return {{}, {}, gather_nd(dy, call.input(1))};
    });

COHORT_OP("TensorScatterUpdate")  // (x, indices, updates)
    .inputs(3)
    .checks()
    .infer([](const OpCall& call) -> Specs {
      check_updates(call, call.shape(0), 1, 2);
      call.check(call.dtype(0) == call.dtype(2), "updates must have x's type",
                 {{"x.dtype", call.dtype(0)}, {"updates.dtype", call.dtype(2)}});
      return same_as(call.spec(0));
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      const Tensor &indices = call.input(1), &updates = call.input(2);
      return {scatter_update(dy, indices, zeros_like(updates)), {}, gather_nd(dy, indices)};
    });

COHORT_OP("OneHot")
    .inputs(1)
    .attr("axis", -1)
    .attr("dtype", DType::Float32)
    .infer([](const OpCall& call) -> Specs {
      check_indices(call, 0);
      const int axis = normalize_axis(call.attr<int>("axis"), call.rank(0) + 1, call.name());
      return {{call.attr<DType>("dtype"), spliced(call.shape(0), axis, 0, {call.attr<std::int64_t>("depth")})}};
    })
    .not_differentiable();

COHORT_OP("Where")
    .inputs(1)
    .infer([](const OpCall& call) -> Specs {
      return {{DType::Int64, {kUnknown, call.rank(0)}}};
    })
    .not_differentiable()
    .dynamic_outputs();

}  // namespace

Tensor gather(const Tensor& params, const Tensor& indices, int axis) {
  return run_op("Gather", {params, indices}, {{"axis", axis}});
}

namespace {
Tensor from_the_front(const Tensor& x, const Tensor& indices, int axis) {
  return where(indices < 0.0, indices + size_of(x, {axis}, indices.dtype()), indices);
}
}  // namespace

Tensor take(const Tensor& x, const Tensor& indices, std::optional<int> axis) {
  if (!axis) return take(ravel(x), indices, 0);
  const int along = normalize_axis(*axis, x.rank(), "take");
  return gather(x, from_the_front(x, indices, along), along);
}

Tensor take_along_axis(const Tensor& x, const Tensor& indices, std::optional<int> axis) {
  if (!axis) {
    if (indices.rank() != 1) {
      throw invalid_argument("take_along_axis", "without an axis, a list of indices is expected",
                             {{"indices.shape", indices.shape()}}, "Give the axis to pick along.");
    }
    return take_along_axis(ravel(x), indices, 0);
  }
  const int along = normalize_axis(*axis, x.rank(), "take_along_axis");
  return run_op("TakeAlongAxis", {x, from_the_front(x, indices, along)}, {{"axis", along}});
}
Tensor gather_nd(const Tensor& params, const Tensor& indices) { return run_op("GatherNd", {params, indices}); }

Tensor scatter_add_like(const Tensor& like, const Tensor& indices, const Tensor& values, int axis) {
  return run_op("ScatterAddLike", {like, indices, values}, {{"axis", axis}});
}
Tensor scatter_nd(const Tensor& indices, const Tensor& updates, const Shape& shape) {
  return run_op("ScatterNd", {indices, updates}, {{"shape", shape}});
}
Tensor scatter_update(const Tensor& x, const Tensor& indices, const Tensor& updates) {
  return run_op("TensorScatterUpdate", {x, indices, updates});
}

Tensor one_hot(const Tensor& indices, std::int64_t depth, int axis, DType dtype) {
  return run_op("OneHot", {indices}, {{"depth", depth}, {"axis", axis}, {"dtype", dtype}});
}

Tensor multi_hot(const Tensor& inputs, std::int64_t num_classes, int axis, DType dtype) {
  return max(one_hot(inputs, num_classes, axis, dtype), inputs.rank() > 1 ? 1 : 0);
}

Tensor where(const Tensor& condition) { return run_op("Where", {condition}); }
Tensor boolean_mask(const Tensor& x, const Tensor& mask) { return gather_nd(x, where(mask)); }

}  // namespace cohort::ops
