#include "cohort/ops/broadcast.h"

#include <cmath>

#include "cohort/core/dispatch.h"
#include "cohort/core/mixed_types.h"
#include "cohort/ops/reduce.h"

namespace cohort::ops {
namespace {

// Throws unless `small` broadcasts to `large` without making it larger.
void check_broadcasts_to(const OpCall& call, const Shape& small, const Shape& large) {
  const int missing = large.rank() - small.rank();
  bool fits = missing >= 0;
  for (int axis = 0; fits && axis < small.rank(); ++axis) {
    const std::int64_t from = small[axis], to = large[axis + missing];
    fits = from == to || from == 1 || from == kUnknown || to == kUnknown;
  }
  call.check(fits, "the smaller shape must broadcast to the larger one", {{"smaller", small}, {"larger", large}});
}

// The shape of BroadcastLike's x with the axes that were reduced put back in.
Shape with_axes(const OpCall& call) {
  const auto axes = call.attr<std::vector<std::int64_t>>("axes");
  if (axes.empty()) return call.shape(0);
  const int rank = call.rank(0) + static_cast<int>(axes.size());
  std::array<bool, Shape::kMaxRank> inserted{};
  for (std::int64_t axis : axes) inserted[normalize_axis(static_cast<int>(axis), rank, call.name())] = true;
  Shape shape;
  for (int axis = 0, from = 0; axis < rank; ++axis) {
    shape.push_back(inserted[axis] || from == call.rank(0) ? 1 : call.shape(0)[from++]);
  }
  return shape;
}

bool surely_equal(const Shape& a, const Shape& b) { return a == b && a.fully_known(); }

}  // namespace

COHORT_OP("SumToLike")
    .inputs(2)
    .infer([](const OpCall& call) -> Specs {
      call.check(is_number(call.dtype(0)), "x must hold numbers", {{"x.dtype", call.dtype(0)}});
      check_broadcasts_to(call, call.shape(1), call.shape(0));
      const DType result = result_type(call, call.dtype(0));
      call.check(rounds_to(result, call.dtype(0)), "the sums of a half type alone may be float32",
                 {{"x.dtype", call.dtype(0)}, {kResultType, result}});
      return {{result, call.shape(1)}};
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Gradients {
      return {broadcast_like(dy, call.input(0)), Gradient()};
    });

COHORT_OP("BroadcastLike")
    .inputs(2)
    .attr("axes", std::vector<std::int64_t>{})
    .infer([](const OpCall& call) -> Specs {
      check_broadcasts_to(call, with_axes(call), call.shape(1));
      return {{call.dtype(0), call.shape(1)}};
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Gradients {
      const auto axes = call.attr<std::vector<std::int64_t>>("axes");
      return {sum_to_like(axes.empty() ? dy : sum(dy, axes), call.input(0)), Gradient()};
    });

COHORT_OP("BroadcastTo")
    .inputs(1)
    .infer([](const OpCall& call) -> Specs {
      const auto sizes = call.attr<std::vector<std::int64_t>>("shape");
      const Shape& x = call.shape(0);
      const int missing = static_cast<int>(sizes.size()) - x.rank();
      Shape target;
      for (int axis = 0; axis < static_cast<int>(sizes.size()); ++axis) {
        const std::int64_t size = sizes[static_cast<std::size_t>(axis)];
        call.check(size >= 0 || (size == -1 && axis >= missing), "an axis has a size, or -1 where x has one to keep",
                   {{"x.shape", x}, {"axis", axis}, {"size", size}});
        target.push_back(size == -1 ? x[axis - missing] : size);
      }
      check_broadcasts_to(call, x, target);
      return {{call.dtype(0), target}};
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors { return {sum_to_like(dy, call.input(0))}; });

COHORT_OP("SizeOf")
    .inputs(1)
    .attr("axes", std::vector<std::int64_t>{})
    .attr("dtype", DType::Float32)
    .infer([](const OpCall& call) -> Specs {
      for (std::int64_t axis : call.attr<std::vector<std::int64_t>>("axes")) {
        normalize_axis(static_cast<int>(axis), call.rank(0), call.name());
      }
      const DType dtype = call.attr<DType>("dtype");
      call.check(is_number(dtype), "a size is a number", {{"dtype", dtype}});
      return {{dtype, {}}};
    })
    .not_differentiable();

Tensor sum_to_like(const Tensor& x, const Tensor& like) {
  if (surely_equal(x.shape(), like.shape())) return x;
  return run_op("SumToLike", {x, like});
}

Tensor broadcast_like(const Tensor& x, const Tensor& like, const std::vector<std::int64_t>& axes) {
  if (axes.empty() && surely_equal(x.shape(), like.shape())) return x;
  return run_op("BroadcastLike", {x, like}, {{"axes", axes}});
}

Tensor broadcast_to(const Tensor& x, const std::vector<std::int64_t>& shape) {
  return run_op("BroadcastTo", {x}, {{"shape", shape}});
}

Tensor size_of(const Tensor& x, const std::vector<std::int64_t>& axes, DType dtype) {
  return run_op("SizeOf", {x}, {{"axes", axes}, {"dtype", dtype}});
}

Tensor scalar_like(const Tensor& x, double value) {
  DType dtype = x.dtype();
  if (!is_floating(dtype)) {
    if (value != std::floor(value)) {
      dtype = DType::Float32;
    } else if (dtype == DType::Bool) {
      dtype = DType::Int32;
    }
  }
  return x.is_symbolic() ? Tensor::scalar(value, dtype) : Tensor::scalar(value, dtype, x.device());
}

}  // namespace cohort::ops
