#include "cohort/ops/joining.h"

#include <algorithm>
#include <numeric>

#include "cohort/core/dispatch.h"
#include "cohort/core/op.h"
#include "cohort/ops/array.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/reduce.h"

namespace cohort::ops {
namespace {

using Sizes = std::vector<std::int64_t>;

// Gradients of several outputs, with zeros where none flows.
Tensors defined_gradients(const OpCall& call, std::span<const Tensor> dys) {
  Tensors gradients;
  for (std::size_t i = 0; i < dys.size(); ++i) {
    gradients.push_back(dys[i].defined() ? dys[i] : zeros_like(call.output(static_cast<int>(i))));
  }
  return gradients;
}

COHORT_OP("Concat")
    .inputs(1, -1)
    .infer([](const OpCall& call) -> Specs {
      TensorSpec out = call.spec(0);
      const int axis = normalize_axis(call.attr<int>("axis"), out.shape.rank(), call.name());
      for (int i = 1; i < call.num_inputs(); ++i) {
        const TensorSpec& next = call.spec(i);
        call.check(next.dtype == out.dtype && next.shape.rank() == out.shape.rank(),
                   "all inputs must have one type and one rank", {{"inputs[0]", out}, {"inputs[i]", next}, {"i", i}});
        for (int d = 0; d < out.shape.rank(); ++d) {
          std::int64_t &size = out.shape[d], more = next.shape[d];
          if (d == axis) {
            size = size == kUnknown || more == kUnknown ? kUnknown : size + more;
          } else {
            call.check(size == more || size == kUnknown || more == kUnknown,
                       "all inputs must have equal sizes off the axis they are joined along",
                       {{"axis", axis}, {"inputs[0].shape", call.shape(0)}, {"inputs[i].shape", next.shape}, {"i", i}});
            size = std::max(size, more);
          }
        }
      }
      return {out};
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      if (call.num_inputs() == 1) return {dy};
      return split_like(dy, Tensors(call.inputs().begin(), call.inputs().end()), call.attr<int>("axis"));
    });

COHORT_OP("Stack")
    .inputs(1, -1)
    .attr("axis", 0)
    .infer([](const OpCall& call) -> Specs {
      const TensorSpec& first = call.spec(0);
      const int axis = normalize_axis(call.attr<int>("axis"), first.shape.rank() + 1, call.name());
      for (int i = 1; i < call.num_inputs(); ++i) {
        call.check(call.dtype(i) == first.dtype && call.shape(i).compatible(first.shape),
                   "all inputs must have one type and shape",
                   {{"inputs[0]", first}, {"inputs[i]", call.spec(i)}, {"i", i}});
      }
      Shape to = first.shape.slice(0, axis);
      to.push_back(call.num_inputs());
      for (int i = axis; i < first.shape.rank(); ++i) to.push_back(first.shape[i]);
      return {{first.dtype, to}};
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      const int axis = normalize_axis(call.attr<int>("axis"), call.rank(0) + 1, call.name());
      Tensors gradients = split(dy, call.num_inputs(), axis);
      for (Tensor& gradient : gradients) gradient = squeeze(gradient, {axis});
      return gradients;
    });

COHORT_OP("SplitLike")  // (x, likes...) -> the parts of x; only the sizes of `likes` count
    .inputs(2, -1)
    .infer([](const OpCall& call) -> Specs {
      const int axis = normalize_axis(call.attr<int>("axis"), call.rank(0), call.name());
      Specs parts;
      for (int i = 1; i < call.num_inputs(); ++i) {
        TensorSpec part = call.spec(0);
        part.shape[axis] = call.shape(i)[axis];
        parts.push_back(part);
      }
      return parts;
    })
    .gradient([](const OpCall& call, std::span<const Tensor> dys) -> Tensors {
      Tensors gradients(call.inputs().size());
      gradients[0] = concatenate(defined_gradients(call, dys), call.attr<int>("axis"));
      return gradients;
    });

COHORT_OP("Split")
    .inputs(1)
    .infer([](const OpCall& call) -> Specs {
      const int axis = normalize_axis(call.attr<int>("axis"), call.rank(0), call.name());
      const std::int64_t whole = call.shape(0)[axis];
      Sizes sizes = call.attr<Sizes>("sizes");
      const std::int64_t sum = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
      const auto rest = std::find(sizes.begin(), sizes.end(), kUnknown);
      if (rest != sizes.end()) {
        call.check(std::count(sizes.begin(), sizes.end(), kUnknown) == 1, "at most one size may be -1",
                   {{"axis", axis}});
        if (whole != kUnknown) *rest = whole - (sum + 1);
        call.check(whole == kUnknown || *rest >= 0, "the sizes must fit into the axis",
                   {{"input.shape", call.shape(0)}, {"axis", axis}, {"sum(sizes)", sum + 1}});
      } else {
        call.check(whole == kUnknown || sum == whole, "the sizes must add up to the axis",
                   {{"input.shape", call.shape(0)}, {"axis", axis}, {"sum(sizes)", sum}});
      }
      Specs parts;
      for (std::int64_t size : sizes) {
        TensorSpec part = call.spec(0);
        part.shape[axis] = size;
        parts.push_back(part);
      }
      return parts;
    })
    .gradient([](const OpCall& call, std::span<const Tensor> dys) -> Tensors {
      return {concatenate(defined_gradients(call, dys), call.attr<int>("axis"))};
    });

COHORT_OP("SplitEvenly")
    .inputs(1)
    .infer([](const OpCall& call) -> Specs {
      const int axis = normalize_axis(call.attr<int>("axis"), call.rank(0), call.name());
      const auto num = call.attr<std::int64_t>("num");
      TensorSpec part = call.spec(0);
      call.check(num > 0 && (part.shape[axis] == kUnknown || part.shape[axis] % num == 0),
                 "the axis must split into equal parts", {{"input.shape", part.shape}, {"axis", axis}, {"num", num}});
      if (part.shape[axis] != kUnknown) part.shape[axis] /= num;
      return Specs(static_cast<std::size_t>(num), part);
    })
    .gradient([](const OpCall& call, std::span<const Tensor> dys) -> Tensors {
      return {concatenate(defined_gradients(call, dys), call.attr<int>("axis"))};
    });

// Opens up the repeats in a tensor that was tiled (or whose elements were repeated), so that a plain sum undoes them:
// an axis with multiple m > 1 becomes (m, n), or (n, m) for repeated elements; n is like's size of that axis.
Tensor split_repeats(const Tensor& x, const Tensor& like, const Sizes& multiples, bool elements) {
  return run_op("SplitRepeats", {x, like}, {{"multiples", multiples}, {"elements", elements}});
}

COHORT_OP("SplitRepeats")
    .inputs(2)
    .infer([](const OpCall& call) -> Specs {
      const Sizes multiples = call.attr<Sizes>("multiples");
      Shape to;
      for (int i = 0; i < call.rank(1); ++i) {
        const std::int64_t m = multiples[static_cast<std::size_t>(i)], n = call.shape(1)[i];
        if (m != 1 && !call.attr<bool>("elements")) to.push_back(m);
        to.push_back(n);
        if (m != 1 && call.attr<bool>("elements")) to.push_back(m);
      }
      return {{call.dtype(0), to}};
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      return {reshape_like(dy, call.input(0)), {}};
    })
    .alias();

Specs infer_repeated(const OpCall& call, const Sizes& multiples) {
  TensorSpec out = call.spec(0);
  call.check(static_cast<int>(multiples.size()) == out.shape.rank(), "one multiple per axis is expected",
             {{"input.shape", out.shape}, {"len(multiples)", multiples.size()}});
  for (int i = 0; i < out.shape.rank(); ++i) {
    const std::int64_t m = multiples[static_cast<std::size_t>(i)];
    call.check(m >= 0, "multiples must not be negative", {{"axis", i}, {"multiple", m}});
    if (out.shape[i] != kUnknown) out.shape[i] *= m;
  }
  return {out};
}

Tensors repeated_gradient(const OpCall& call, const Tensor& dy, bool elements) {
  const Sizes multiples = call.attr<Sizes>("multiples");
  Sizes repeats;  // where split_repeats puts the multiples
  std::int64_t position = 0;
  for (std::int64_t m : multiples) {
    if (m != 1) repeats.push_back(position + (elements ? 1 : 0));
    position += m != 1 ? 2 : 1;
  }
  if (repeats.empty()) return {dy};
  return {sum(split_repeats(dy, call.input(0), multiples, elements), repeats)};
}

COHORT_OP("Tile")
    .inputs(1)
    .infer([](const OpCall& call) { return infer_repeated(call, call.attr<Sizes>("multiples")); })
    .gradient([](const OpCall& call, const Tensor& dy) { return repeated_gradient(call, dy, false); });

COHORT_OP("Repeat")
    .inputs(1)
    .infer([](const OpCall& call) { return infer_repeated(call, call.attr<Sizes>("multiples")); })
    .gradient([](const OpCall& call, const Tensor& dy) { return repeated_gradient(call, dy, true); });

Tensor join(const char* op, const Tensors& xs, int axis) {
  const auto fits = [&](const Tensor& x) { return x.dtype() == xs[0].dtype(); };
  if (std::all_of(xs.begin(), xs.end(), fits)) return run_op(op, xs, {{"axis", axis}});
  DType dtype = xs[0].dtype();
  for (const Tensor& x : xs) dtype = promote(dtype, x.dtype());
  Tensors alike;
  for (const Tensor& x : xs) alike.push_back(cast(x, dtype));
  return run_op(op, alike, {{"axis", axis}});
}

}  // namespace

Tensor concatenate(const Tensors& xs, int axis) { return join("Concat", xs, axis); }

Tensors split(const Tensor& x, const IndicesOrSections& where, int axis) {
  if (where.sections) return run_op_all("SplitEvenly", {x}, {{"num", *where.sections}, {"axis", axis}});
  Sizes sizes;
  std::int64_t begin = 0;
  for (const std::int64_t index : where.indices) {
    if (index < begin) {
      throw invalid_argument("split", "the indices to cut at must ascend from 0", {{"index", index}, {"before", begin}},
                             "Parts of given sizes are made by split_sizes.");
    }
    sizes.push_back(index - begin);
    begin = index;
  }
  sizes.push_back(kUnknown);
  return split_sizes(x, sizes, axis);
}

Tensors split_sizes(const Tensor& x, const Sizes& sizes, int axis) {
  return run_op_all("Split", {x}, {{"sizes", sizes}, {"axis", axis}});
}
Tensors split_like(const Tensor& x, const Tensors& likes, int axis) {
  Tensors inputs = {x};
  inputs.insert(inputs.end(), likes.begin(), likes.end());
  return run_op_all("SplitLike", inputs, {{"axis", axis}});
}

Tensor stack(const Tensors& tensors, int axis) { return join("Stack", tensors, axis); }

Tensors unstack(const Tensor& x, std::optional<std::int64_t> num, int axis) {
  axis = normalize_axis(axis, x.rank(), "unstack");
  const std::int64_t size = x.shape()[axis], count = num.value_or(size);
  if (count == kUnknown || (size != kUnknown && size != count)) {
    throw invalid_argument("unstack", "the size of the axis must be known, and num be that size",
                           {{"x.shape", x.shape()}, {"axis", axis}, {"num", count}});
  }
  if (count == 0) return {};
  Tensors slices = split(x, count, axis);
  for (Tensor& slice : slices) slice = squeeze(slice, {axis});
  return slices;
}

Tensor tile(const Tensor& x, const Sizes& multiples) {
  Tensor from = x;
  Sizes all = multiples;
  while (static_cast<int>(all.size()) < from.rank()) all.insert(all.begin(), 1);
  while (from.rank() < static_cast<int>(all.size())) from = expand_dims(from, 0);
  return run_op("Tile", {from}, {{"multiples", all}});
}

Tensor repeat(const Tensor& x, int repeats, std::optional<int> axis) {
  if (!axis) return repeat(ravel(x), repeats, 0);
  Sizes multiples(static_cast<std::size_t>(x.rank()), 1);
  multiples[static_cast<std::size_t>(normalize_axis(*axis, x.rank(), "repeat"))] = repeats;
  return run_op("Repeat", {x}, {{"multiples", multiples}});
}

}  // namespace cohort::ops
