#include "cohort/ops/slicing.h"

#include <algorithm>

#include "cohort/core/dispatch.h"
#include "cohort/core/op.h"
#include "cohort/ops/array.h"
#include "cohort/ops/joining.h"
#include "cohort/ops/slice_range.h"

namespace cohort::ops {
namespace {

using Sizes = std::vector<std::int64_t>;

void check_lengths(const OpCall& call, const Shape& shape, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const Sizes values = call.attr<Sizes>(name);
    call.check(static_cast<int>(values.size()) == shape.rank(), "one value per axis is expected",
               {{"input.shape", shape}, {"attribute", name}, {"values", values.size()}});
  }
}

Shape sliced(const OpCall& call, const Shape& from) {
  check_lengths(call, from, {"begin", "size"});
  const Sizes begin = call.attr<Sizes>("begin"), size = call.attr<Sizes>("size");
  Shape to;
  for (int i = 0; i < from.rank(); ++i) {
    const std::int64_t b = begin[static_cast<std::size_t>(i)], n = size[static_cast<std::size_t>(i)];
    const bool fits = from[i] == kUnknown || (n < 0 ? b <= from[i] : b + n <= from[i]);
    call.check(b >= 0 && n >= -1 && fits, "the slice must lie inside the input",
               {{"input.shape", from}, {"axis", i}, {"begin", b}, {"size", n}});
    to.push_back(n >= 0 ? n : from[i] == kUnknown ? kUnknown : from[i] - b);
  }
  return to;
}

Shape strided_sliced(const OpCall& call, const Shape& from) {
  check_lengths(call, from, {"begin", "end", "strides"});
  const Sizes begin = call.attr<Sizes>("begin"), end = call.attr<Sizes>("end"), strides = call.attr<Sizes>("strides");
  const auto open_begin = call.attr<std::int64_t>("begin_mask"), open_end = call.attr<std::int64_t>("end_mask");
  Shape to;
  for (int i = 0; i < from.rank(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    call.check(strides[at] != 0, "strides must not be 0", {{"axis", i}});
    const std::int64_t size = from[i];
    to.push_back(
        size == kUnknown
            ? kUnknown
            : slice_range(begin[at], end[at], strides[at], open_begin >> i & 1, open_end >> i & 1, size).count);
  }
  return to;
}

COHORT_OP("Slice")
    .inputs(1)
    .infer([](const OpCall& call) -> Specs {
      return {{call.dtype(0), sliced(call, call.shape(0))}};
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      return {run_op("SliceGrad", {dy, call.input(0)}, call.attributes())};
    });

COHORT_OP("SliceGrad")  // (dy, like) -> zeros like `like` with dy where the slice was
    .inputs(2)
    .infer([](const OpCall& call) -> Specs {
      return {{call.dtype(0), call.shape(1)}};
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      return {run_op("Slice", {dy}, call.attributes()), {}};
    });

COHORT_OP("StridedSlice")
    .inputs(1)
    .attr("begin_mask", 0)
    .attr("end_mask", 0)
    .infer([](const OpCall& call) -> Specs {
      return {{call.dtype(0), strided_sliced(call, call.shape(0))}};
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      return {run_op("StridedSliceGrad", {dy, call.input(0)}, call.attributes())};
    });

COHORT_OP("StridedSliceGrad")
    .inputs(2)
    .attr("begin_mask", 0)
    .attr("end_mask", 0)
    .infer([](const OpCall& call) -> Specs {
      return {{call.dtype(0), call.shape(1)}};
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      return {run_op("StridedSlice", {dy}, call.attributes()), {}};
    });

COHORT_OP("Pad")
    .inputs(1)
    .attr("value", 0.0)
    .infer([](const OpCall& call) -> Specs {
      check_lengths(call, call.shape(0), {"before", "after"});
      const Sizes before = call.attr<Sizes>("before"), after = call.attr<Sizes>("after");
      TensorSpec out = call.spec(0);
      for (int i = 0; i < out.shape.rank(); ++i) {
        const std::int64_t b = before[static_cast<std::size_t>(i)], a = after[static_cast<std::size_t>(i)];
        call.check(b >= 0 && a >= 0, "paddings must not be negative", {{"axis", i}, {"before", b}, {"after", a}});
        if (out.shape[i] != kUnknown) out.shape[i] += b + a;
      }
      return {out};
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      return {run_op("PadGrad", {dy}, {{"before", call.attr<Sizes>("before")}, {"after", call.attr<Sizes>("after")}})};
    });

COHORT_OP("PadGrad")  // what lies inside the padding
    .inputs(1)
    .infer([](const OpCall& call) -> Specs {
      const Sizes before = call.attr<Sizes>("before"), after = call.attr<Sizes>("after");
      TensorSpec out = call.spec(0);
      for (int i = 0; i < out.shape.rank(); ++i) {
        const auto at = static_cast<std::size_t>(i);
        if (out.shape[i] != kUnknown) out.shape[i] -= before[at] + after[at];
      }
      return {out};
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      return {run_op("Pad", {dy}, {{"before", call.attr<Sizes>("before")}, {"after", call.attr<Sizes>("after")}})};
    });

COHORT_OP("Roll")
    .inputs(1)
    .infer([](const OpCall& call) -> Specs {
      normalize_axis(call.attr<int>("axis"), call.rank(0), call.name());
      return same_as(call.spec(0));
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      return {roll(dy, -call.attr<std::int64_t>("shift"), call.attr<int>("axis"))};
    });

// x[begin:end:step] along one axis.
Tensor slice_axis(const Tensor& x, int axis, SliceSpec range) {
  std::vector<SliceSpec> axes(static_cast<std::size_t>(axis) + 1);
  axes.back() = range;
  return strided_slice(x, axes);
}

// Mirrors both edges of an axis; `edge` is 1 when the outermost element is left out.
Tensor mirror_axis(const Tensor& x, int axis, std::int64_t before, std::int64_t after, std::int64_t edge) {
  const std::int64_t size = x.shape()[axis];
  if (size != kUnknown && std::max(before, after) > size - edge) {
    throw invalid_argument("pad", "mirrored padding must not exceed the axis",
                           {{"x.shape", x.shape()}, {"axis", axis}, {"before", before}, {"after", after}});
  }
  Tensors parts;
  if (before > 0) parts.push_back(flip(slice_axis(x, axis, {.begin = edge, .end = before + edge}), {axis}));
  parts.push_back(x);
  if (after > 0) {
    const SliceSpec last{.begin = -after - edge, .end = edge == 0 ? SliceSpec::kOpen : -edge};
    parts.push_back(flip(slice_axis(x, axis, last), {axis}));
  }
  return parts.size() == 1 ? x : concatenate(parts, axis);
}

}  // namespace

Tensor slice(const Tensor& x, const Sizes& begin, const Sizes& size) {
  return run_op("Slice", {x}, {{"begin", begin}, {"size", size}});
}

Tensor strided_slice(const Tensor& x, const std::vector<SliceSpec>& axes) {
  const int rank = x.rank();
  if (static_cast<int>(axes.size()) > rank) {
    throw invalid_argument("strided_slice", "at most one range per axis is expected",
                           {{"x.shape", x.shape()}, {"ranges", axes.size()}});
  }
  Sizes begin(static_cast<std::size_t>(rank)), end(begin), strides(static_cast<std::size_t>(rank), 1);
  std::int64_t begin_mask = 0, end_mask = 0;
  for (int i = 0; i < rank; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const SliceSpec range = at < axes.size() ? axes[at] : SliceSpec{};
    if (range.begin == SliceSpec::kOpen) {
      begin_mask |= std::int64_t{1} << i;
    } else {
      begin[at] = range.begin;
    }
    if (range.end == SliceSpec::kOpen) {
      end_mask |= std::int64_t{1} << i;
    } else {
      end[at] = range.end;
    }
    strides[at] = range.step;
  }
  return run_op(
      "StridedSlice", {x},
      {{"begin", begin}, {"end", end}, {"strides", strides}, {"begin_mask", begin_mask}, {"end_mask", end_mask}});
}

Tensor take_at(const Tensor& x, std::int64_t index, int axis) {
  axis = normalize_axis(axis, x.rank(), "take_at");
  const std::int64_t size = x.shape()[axis];
  if (size != kUnknown && (index < -size || index >= size)) {
    throw invalid_argument("take_at", "the index must lie inside the axis",
                           {{"x.shape", x.shape()}, {"axis", axis}, {"index", index}});
  }
  return squeeze(slice_axis(x, axis, {.begin = index, .end = index == -1 ? SliceSpec::kOpen : index + 1}), {axis});
}

Tensor pad(const Tensor& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& paddings, const std::string& mode,
           double constant_value) {
  if (static_cast<int>(paddings.size()) != x.rank()) {
    throw invalid_argument("pad", "one (before, after) pair per axis is expected",
                           {{"x.shape", x.shape()}, {"pairs", paddings.size()}});
  }
  if (mode == "constant") {
    Sizes before, after;
    for (const auto& [b, a] : paddings) {
      before.push_back(b);
      after.push_back(a);
    }
    return run_op("Pad", {x}, {{"before", before}, {"after", after}, {"value", constant_value}});
  }
  if (mode != "reflect" && mode != "symmetric") {
    throw invalid_argument("pad", "mode must be 'constant', 'reflect' or 'symmetric'", {{"mode", mode}});
  }
  Tensor y = x;
  for (int i = 0; i < x.rank(); ++i) {
    const auto [before, after] = paddings[static_cast<std::size_t>(i)];
    y = mirror_axis(y, i, before, after, mode == "reflect" ? 1 : 0);
  }
  return y;
}

Tensor flip(const Tensor& x, Sizes axes) {
  std::vector<SliceSpec> ranges(static_cast<std::size_t>(x.rank()));
  if (axes.empty()) {
    for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
  }
  for (std::int64_t axis : axes) {
    ranges[static_cast<std::size_t>(normalize_axis(static_cast<int>(axis), x.rank(), "flip"))].step = -1;
  }
  return strided_slice(x, ranges);
}

Tensor roll(const Tensor& x, std::int64_t shift, std::optional<int> axis) {
  if (!axis) return reshape_like(roll(ravel(x), shift, 0), x);
  return run_op("Roll", {x}, {{"shift", shift}, {"axis", *axis}});
}

}  // namespace cohort::ops
