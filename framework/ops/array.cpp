#include "cohort/ops/array.h"

#include <algorithm>
#include <numeric>

#include "cohort/core/dispatch.h"
#include "cohort/core/op.h"

namespace cohort::ops {
namespace {

using Sizes = std::vector<std::int64_t>;

std::int64_t multiply(std::int64_t a, std::int64_t b) { return a == kUnknown || b == kUnknown ? kUnknown : a * b; }

// Axes kept by -2 cancel, so that an unknown batch does not hide the size that -1 stands for.
Shape reshaped(const OpCall& call) {
  const Shape& from = call.shape(0);
  const Sizes target = call.attr<Sizes>("shape");
  std::int64_t left = 1, right = 1;
  int inferred = -1;
  Shape result;
  std::vector<bool> kept(static_cast<std::size_t>(from.rank()));
  for (int i = 0; i < static_cast<int>(target.size()); ++i) {
    std::int64_t size = target[static_cast<std::size_t>(i)];
    if (size == -2) {
      call.check(i < from.rank(), "-2 in the shape keeps an axis that the input has",
                 {{"input.shape", from}, {"axis", i}});
      kept[static_cast<std::size_t>(i)] = true;
      size = from[i];
    } else if (size == -1) {
      call.check(inferred < 0, "at most one axis of the shape may be -1", {{"axis", i}, {"also", inferred}});
      inferred = i;
    } else {
      right *= size;
    }
    result.push_back(size);
  }
  for (int i = 0; i < from.rank(); ++i) {
    if (!kept[static_cast<std::size_t>(i)]) left = multiply(left, from[i]);
  }
  if (left == kUnknown) return result;
  if (inferred >= 0) {
    call.check(right > 0 && left % right == 0, "the new shape must hold the same number of elements",
               {{"input.shape", from}, {"shape", result}});
    result[inferred] = left / right;
  } else {
    call.check(left == right, "the new shape must hold the same number of elements",
               {{"input.shape", from}, {"shape", result}});
  }
  return result;
}

COHORT_OP("Reshape")
    .inputs(1)
    .infer([](const OpCall& call) -> Specs {
      return {{call.dtype(0), reshaped(call)}};
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors { return {reshape_like(dy, call.input(0))}; })
    .alias();

COHORT_OP("ReshapeLike")
    .inputs(2)
    .infer([](const OpCall& call) -> Specs {
      const std::int64_t from = call.shape(0).num_elements(), to = call.shape(1).num_elements();
      call.check(from == to || from == kUnknown || to == kUnknown, "both inputs must hold the same number of elements",
                 {{"input.shape", call.shape(0)}, {"like.shape", call.shape(1)}});
      return {{call.dtype(0), call.shape(1)}};
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      return {reshape_like(dy, call.input(0)), {}};
    })
    .alias();

COHORT_OP("ExpandDims")
    .inputs(1)
    .infer([](const OpCall& call) -> Specs {
      const Shape& from = call.shape(0);
      const int axis = normalize_axis(call.attr<int>("axis"), from.rank() + 1, call.name());
      Shape to = from.slice(0, axis);
      to.push_back(1);
      for (int i = axis; i < from.rank(); ++i) to.push_back(from[i]);
      return {{call.dtype(0), to}};
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      return {squeeze(dy, {normalize_axis(call.attr<int>("axis"), call.rank(0) + 1, call.name())})};
    })
    .alias();

// The axes that Squeeze drops, from the front; ascending.
Sizes squeezed_axes(const OpCall& call) {
  Sizes axes = call.attr<Sizes>("axes");
  const Shape& shape = call.shape(0);
  if (axes.empty()) {
    for (int i = 0; i < shape.rank(); ++i) {
      if (shape[i] == 1) axes.push_back(i);
    }
  }
  for (std::int64_t& axis : axes) {
    axis = normalize_axis(static_cast<int>(axis), shape.rank(), call.name());
    const std::int64_t size = shape[static_cast<int>(axis)];
    call.check(size == 1 || size == kUnknown, "the axes to drop must have size 1",
               {{"input.shape", shape}, {"axis", axis}});
  }
  std::sort(axes.begin(), axes.end());
  return axes;
}

COHORT_OP("Squeeze")
    .inputs(1)
    .attr("axes", Sizes{})
    .infer([](const OpCall& call) -> Specs {
      const Sizes axes = squeezed_axes(call);
      Shape to;
      for (int i = 0; i < call.rank(0); ++i) {
        if (!std::binary_search(axes.begin(), axes.end(), i)) to.push_back(call.shape(0)[i]);
      }
      return {{call.dtype(0), to}};
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      Tensor dx = dy;
      for (std::int64_t axis : squeezed_axes(call)) dx = expand_dims(dx, static_cast<int>(axis));
      return {dx};
    })
    .alias();

COHORT_OP("MergeAxes")
    .inputs(1)
    .infer([](const OpCall& call) -> Specs {
      const Shape& from = call.shape(0);
      const int first = call.attr<int>("first"), count = call.attr<int>("count");
      call.check(first >= 0 && count >= 0 && first + count <= from.rank(), "the axes to merge must exist",
                 {{"input.shape", from}, {"first", first}, {"count", count}});
      Shape to = from.slice(0, first);
      to.push_back(from.slice(first, first + count).num_elements());
      for (int i = first + count; i < from.rank(); ++i) to.push_back(from[i]);
      return {{call.dtype(0), to}};
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors { return {reshape_like(dy, call.input(0))}; })
    .alias();

COHORT_OP("UnmergeAxis")
    .inputs(2)
    .infer([](const OpCall& call) -> Specs {
      const Shape &from = call.shape(0), &like = call.shape(1);
      const int axis = call.attr<int>("axis"), first = call.attr<int>("first"), count = call.attr<int>("count");
      call.check(axis >= 0 && axis < from.rank() && first >= 0 && count >= 0 && first + count <= like.rank(),
                 "the axis to split and the axes to follow must exist",
                 {{"input.shape", from}, {"like.shape", like}, {"axis", axis}, {"first", first}, {"count", count}});
      Shape to = from.slice(0, axis);
      for (int i = first; i < first + count; ++i) to.push_back(like[i]);
      for (int i = axis + 1; i < from.rank(); ++i) to.push_back(from[i]);
      return {{call.dtype(0), to}};
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      return {merge_axes(dy, call.attr<int>("axis"), call.attr<int>("count")), {}};
    })
    .alias();

COHORT_OP("Identity")
    .inputs(1)
    .infer([](const OpCall& call) { return same_as(call.spec(0)); })
    .gradient([](const OpCall&, const Tensor& dy) -> Tensors { return {dy}; })
    .alias();

COHORT_OP("StopGradient")
    .inputs(1)
    .infer([](const OpCall& call) { return same_as(call.spec(0)); })
    .not_differentiable()
    .alias();

// The permutation with every axis counted from the front.
Sizes permutation(const OpCall& call) {
  const int rank = call.rank(0);
  Sizes perm = call.attr<Sizes>("perm");
  if (perm.empty()) {
    for (int i = rank - 1; i >= 0; --i) perm.push_back(i);
  }
  call.check(static_cast<int>(perm.size()) == rank, "perm must name each axis of the input once",
             {{"input.shape", call.shape(0)}, {"len(perm)", perm.size()}});
  std::vector<bool> seen(perm.size());
  for (std::int64_t& axis : perm) {
    axis = normalize_axis(static_cast<int>(axis), rank, call.name());
    call.check(!seen[static_cast<std::size_t>(axis)], "perm must name each axis of the input once",
               {{"input.shape", call.shape(0)}, {"axis named twice", axis}});
    seen[static_cast<std::size_t>(axis)] = true;
  }
  return perm;
}

COHORT_OP("Transpose")
    .inputs(1)
    .attr("perm", Sizes{})
    .infer([](const OpCall& call) -> Specs {
      Shape to;
      for (std::int64_t axis : permutation(call)) to.push_back(call.shape(0)[static_cast<int>(axis)]);
      return {{call.dtype(0), to}};
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      const Sizes perm = permutation(call);
      Sizes inverse(perm.size());
      for (std::size_t i = 0; i < perm.size(); ++i) {
        inverse[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
      }
      return {transpose(dy, inverse)};
    });

COHORT_OP("ShapeOf")
    .inputs(1)
    .infer([](const OpCall& call) -> Specs {
      return {{DType::Int64, {call.rank(0)}}};
    })
    .not_differentiable();

Sizes identity_permutation(int rank) {
  Sizes perm(static_cast<std::size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  return perm;
}

}  // namespace

Tensor reshape(const Tensor& x, const std::vector<std::int64_t>& shape) {
  return run_op("Reshape", {x}, {{"shape", shape}});
}
Tensor ravel(const Tensor& x) { return reshape(x, {-1}); }
Tensor reshape_like(const Tensor& x, const Tensor& like) { return run_op("ReshapeLike", {x, like}); }
Tensor expand_dims(const Tensor& x, int axis) { return run_op("ExpandDims", {x}, {{"axis", axis}}); }
Tensor expand_dims(const Tensor& x, const Sizes& axes) {
  const int rank = x.rank() + static_cast<int>(axes.size());
  Sizes places;
  for (const std::int64_t axis : axes) places.push_back(normalize_axis(static_cast<int>(axis), rank, "expand_dims"));
  std::sort(places.begin(), places.end());
  if (std::adjacent_find(places.begin(), places.end()) != places.end()) {
    throw invalid_argument("expand_dims", "an axis may be named once", {{"axes", Shape(places)}});
  }
  Tensor result = x;
  for (const std::int64_t place : places) result = expand_dims(result, static_cast<int>(place));
  return result;
}
Tensor squeeze(const Tensor& x, const std::vector<std::int64_t>& axes) {
  return run_op("Squeeze", {x}, {{"axes", axes}});
}
Tensor merge_axes(const Tensor& x, int first, int count) {
  return run_op("MergeAxes", {x}, {{"first", first}, {"count", count}});
}
Tensor unmerge_axis(const Tensor& x, const Tensor& like, int axis, int first, int count) {
  return run_op("UnmergeAxis", {x, like}, {{"axis", axis}, {"first", first}, {"count", count}});
}
Tensor copy(const Tensor& x) { return run_op("Identity", {x}); }
Tensor stop_gradient(const Tensor& x) { return run_op("StopGradient", {x}); }

Tensor transpose(const Tensor& x, const std::vector<std::int64_t>& axes) {
  return run_op("Transpose", {x}, {{"perm", axes}});
}

Tensor swapaxes(const Tensor& x, int axis1, int axis2) {
  Sizes perm = identity_permutation(x.rank());
  std::swap(perm[static_cast<std::size_t>(normalize_axis(axis1, x.rank(), "swapaxes"))],
            perm[static_cast<std::size_t>(normalize_axis(axis2, x.rank(), "swapaxes"))]);
  return transpose(x, perm);
}

Tensor moveaxis(const Tensor& x, int source, int destination) {
  source = normalize_axis(source, x.rank(), "moveaxis");
  destination = normalize_axis(destination, x.rank(), "moveaxis");
  Sizes perm = identity_permutation(x.rank());
  perm.erase(perm.begin() + source);
  perm.insert(perm.begin() + destination, source);
  return transpose(x, perm);
}

Tensor moveaxis(const Tensor& x, const Sizes& source, const Sizes& destination) {
  if (source.size() != destination.size()) {
    throw invalid_argument("moveaxis", "as many destinations as sources are expected",
                           {{"source", source.size()}, {"destination", destination.size()}});
  }
  Sizes perm = identity_permutation(x.rank());
  std::vector<std::pair<std::int64_t, std::int64_t>> moves;  // to, from
  for (std::size_t i = 0; i < source.size(); ++i) {
    moves.emplace_back(normalize_axis(static_cast<int>(destination[i]), x.rank(), "moveaxis"),
                       normalize_axis(static_cast<int>(source[i]), x.rank(), "moveaxis"));
    if (std::erase(perm, moves.back().second) == 0) {
      throw invalid_argument("moveaxis", "an axis may be moved once", {{"source", source[i]}});
    }
  }
  std::sort(moves.begin(), moves.end());
  for (const auto& [to, from] : moves) {
    perm.insert(perm.begin() + std::min(to, static_cast<std::int64_t>(perm.size())), from);
  }
  return transpose(x, perm);
}

Tensor shape_of(const Tensor& x) { return run_op("ShapeOf", {x}); }

}  // namespace cohort::ops
