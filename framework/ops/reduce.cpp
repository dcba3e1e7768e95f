#include "cohort/ops/reduce.h"

#include "cohort/core/dispatch.h"
#include "cohort/ops/array.h"
#include "cohort/ops/cumulative.h"
#include "cohort/ops/math.h"

namespace cohort::ops {
namespace {

using AxisList = std::vector<std::int64_t>;

// x's shape without the axes, or with size 1 in their place.
Shape reduced_shape(const OpCall& call, const AxisList& axes, bool keep) {
  const Shape& x = call.shape(0);
  std::array<bool, Shape::kMaxRank> reduced{};
  if (axes.empty()) reduced.fill(true);
  for (std::int64_t axis : axes) {
    bool& entry = reduced[static_cast<std::size_t>(normalize_axis(static_cast<int>(axis), x.rank(), call.name()))];
    call.check(!entry, "an axis may be named once", {{"axis", axis}, {"x.shape", x}});
    entry = true;
  }
  Shape shape;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!reduced[static_cast<std::size_t>(axis)]) {
      shape.push_back(x[axis]);
    } else if (keep) {
      shape.push_back(1);
    }
  }
  return shape;
}

// Registers a reduction of numbers (or bools) to the same type.
OpDef& define_reduction(const char* name, bool (*takes)(DType), const char* expected) {
  return register_op(name)
      .inputs(1)
      .attr("axes", AxisList{})
      .attr("keep_dims", false)
      .infer([=](const OpCall& call) -> Specs {
        call.check(takes(call.dtype(0)), expected, {{"x.dtype", call.dtype(0)}});
        return {{call.dtype(0), reduced_shape(call, call.attr<AxisList>("axes"), call.attr<bool>("keep_dims"))}};
      });
}

// All axes of x when none were named.
AxisList all_if_empty(const OpCall& call) {
  AxisList axes = call.attr<AxisList>("axes");
  if (axes.empty()) {
    for (int axis = 0; axis < call.input(0).rank(); ++axis) axes.push_back(axis);
  }
  return axes;
}

// Repeats what has the output's shape over the input.
Tensor spread(const OpCall& call, const Tensor& small) {
  return broadcast_like(small, call.input(0), call.attr<bool>("keep_dims") ? AxisList{} : all_if_empty(call));
}

// The gradient goes to the elements that reached the extreme, in equal shares.
Tensors extreme_gradient(const OpCall& call, const Tensor& dy) {
  const Tensor reached = cast(equal(call.input(0), spread(call, call.output(0))), dy.dtype());
  const Tensor share = dy / sum(reached, call.attr<AxisList>("axes"), call.attr<bool>("keep_dims"));
  return {reached * spread(call, share)};
}

// Each element's factor is the product of all others, taken axis by axis so that zeros need no division.
Tensors product_gradient(const OpCall& call, const Tensor& dy) {
  Tensor gradient = spread(call, dy), x = call.input(0);
  for (std::int64_t axis : all_if_empty(call)) {
    const int along = static_cast<int>(axis);
    gradient =
        gradient * (cumprod(x, along, {.exclusive = true}) * cumprod(x, along, {.exclusive = true, .reverse = true}));
    x = prod(x, along, keep_dims);
  }
  return {gradient};
}

OpDef& define_arg(const char* name) {
  return register_op(name)
      .inputs(1)
      .attr("axis", -1)
      .attr("keep_dims", false)
      .not_differentiable()
      .infer([](const OpCall& call) -> Specs {
        call.check(is_number(call.dtype(0)), "x must hold numbers", {{"x.dtype", call.dtype(0)}});
        const int axis = normalize_axis(call.attr<int>("axis"), call.rank(0), call.name());
        call.check(call.shape(0)[axis] != 0, "the axis must not be empty",
                   {{"x.shape", call.shape(0)}, {"axis", axis}});
        return {{DType::Int32, reduced_shape(call, {axis}, call.attr<bool>("keep_dims"))}};
      });
}

constexpr bool is_bool(DType dtype) { return dtype == DType::Bool; }
constexpr const char* kNumbers = "x must hold numbers";

[[maybe_unused]] const OpDef& op_sum =
    define_reduction("Sum", is_number, kNumbers).gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      return {spread(call, dy)};
    });
[[maybe_unused]] const OpDef& op_mean =
    define_reduction("Mean", is_floating, "x must be floating")
        .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
          return {spread(call, dy / size_of(call.input(0), call.attr<AxisList>("axes"), dy.dtype()))};
        });
[[maybe_unused]] const OpDef& op_prod = define_reduction("Prod", is_number, kNumbers).gradient(product_gradient);
[[maybe_unused]] const OpDef& op_max = define_reduction("Max", is_number, kNumbers).gradient(extreme_gradient);
[[maybe_unused]] const OpDef& op_min = define_reduction("Min", is_number, kNumbers).gradient(extreme_gradient);
[[maybe_unused]] const OpDef& op_any = define_reduction("Any", is_bool, "x must be bool").not_differentiable();
[[maybe_unused]] const OpDef& op_all = define_reduction("All", is_bool, "x must be bool").not_differentiable();
[[maybe_unused]] const OpDef& op_argmax = define_arg("ArgMax");
[[maybe_unused]] const OpDef& op_argmin = define_arg("ArgMin");

Tensor reduce(const char* name, const Tensor& x, const Axes& axes, bool keep) {
  return run_op(name, {x}, {{"axes", axes.values}, {"keep_dims", keep}});
}

// What sums and products of small types are computed in.
Tensor widened(const Tensor& x) {
  const bool small = x.dtype() == DType::Bool || x.dtype() == DType::UInt8 || x.dtype() == DType::Int8;
  return small ? cast(x, DType::Int32) : x;
}
Tensor number(const Tensor& x) { return x.dtype() == DType::Bool ? cast(x, DType::Int32) : x; }

}  // namespace

Tensor sum(const Tensor& x, const Axes& axes, bool keep) { return reduce("Sum", widened(x), axes, keep); }
Tensor mean(const Tensor& x, const Axes& axes, bool keep) { return reduce("Mean", to_floating(x), axes, keep); }
Tensor prod(const Tensor& x, const Axes& axes, bool keep) { return reduce("Prod", widened(x), axes, keep); }
Tensor max(const Tensor& x, const Axes& axes, bool keep) { return reduce("Max", number(x), axes, keep); }
Tensor min(const Tensor& x, const Axes& axes, bool keep) { return reduce("Min", number(x), axes, keep); }
Tensor any(const Tensor& x, const Axes& axes, bool keep) { return reduce("Any", cast(x, DType::Bool), axes, keep); }
Tensor all(const Tensor& x, const Axes& axes, bool keep) { return reduce("All", cast(x, DType::Bool), axes, keep); }

Tensor logsumexp(const Tensor& x, const Axes& axes, bool keep) {
  const Tensor real = to_floating(x);
  const Tensor largest = run_op("StopGradient", {max(real, axes, keep_dims)});
  // Taking an infinite largest away would leave NaN.
  const Tensor shift = where(is_finite(largest), largest, 0.0);
  const Tensor rest = log(sum(exp(real - shift), axes, keep));
  return rest + (keep ? shift : sum(shift, axes));
}

Tensor variance(const Tensor& x, const Axes& axes, bool keep) {
  const Tensor real = to_floating(x);
  return mean(squared_difference(real, mean(real, axes, keep_dims)), axes, keep);
}

Tensor standard_deviation(const Tensor& x, const Axes& axes, bool keep) { return sqrt(variance(x, axes, keep)); }

Tensor count_nonzero(const Tensor& x, const Axes& axes, bool keep) { return sum(cast(x, DType::Bool), axes, keep); }

namespace {
Tensor arg(const char* op, const Tensor& x, std::optional<int> axis, bool keepdims) {
  if (axis) return run_op(op, {number(x)}, {{"axis", *axis}, {"keep_dims", keepdims}});
  const Tensor index = run_op(op, {ravel(number(x))}, {{"axis", 0}, {"keep_dims", false}});
  return keepdims ? reshape(index, AxisList(static_cast<std::size_t>(x.rank()), 1)) : index;
}
}  // namespace

Tensor argmax(const Tensor& x, std::optional<int> axis, bool keepdims) { return arg("ArgMax", x, axis, keepdims); }
Tensor argmin(const Tensor& x, std::optional<int> axis, bool keepdims) { return arg("ArgMin", x, axis, keepdims); }

}  // namespace cohort::ops
