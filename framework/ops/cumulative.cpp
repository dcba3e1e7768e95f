#include "cohort/ops/cumulative.h"

#include <algorithm>

#include "cohort/core/dispatch.h"
#include "cohort/ops/array.h"
#include "cohort/ops/math.h"
#include "cohort/ops/slicing.h"

namespace cohort::ops {
namespace {

// The recurrence in all its forms. `shift`: step k takes the factor of step k-1; `exclusive`: the result is s[k-1].
// Both at once never arises: the three other forms are closed under the gradient.
Tensor scan(const Tensor& a, const Tensor& b, int axis, bool reverse, bool shift, bool exclusive) {
  return run_op("LinearScan", {a, b},
                {{"axis", axis}, {"reverse", reverse}, {"shift", shift}, {"exclusive", exclusive}});
}

OpDef& define_cumulative(const char* name) {
  return register_op(name)
      .inputs(1)
      .attr("axis", 0)
      .attr("exclusive", false)
      .attr("reverse", false)
      .infer([](const OpCall& call) -> Specs {
        call.check(is_number(call.dtype(0)), "x must hold numbers", {{"x.dtype", call.dtype(0)}});
        normalize_axis(call.attr<int>("axis"), call.rank(0), call.name());
        return same_as(call.spec(0));
      });
}

[[maybe_unused]] const OpDef& op_cumsum =
    define_cumulative("Cumsum").gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      return {cumsum(dy, call.attr<int>("axis"),
                     {.exclusive = call.attr<bool>("exclusive"), .reverse = !call.attr<bool>("reverse")})};
    });

// What came before an element times a recurrence over what comes after it: no division, so zeros do no harm.
[[maybe_unused]] const OpDef& op_cumprod =
    define_cumulative("Cumprod").gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      const Tensor& x = call.input(0);
      const int axis = call.attr<int>("axis");
      const bool exclusive = call.attr<bool>("exclusive"), reverse = call.attr<bool>("reverse");
      const Tensor before = cumprod(x, axis, {.exclusive = true, .reverse = reverse});
      return {before * scan(x, dy, axis, !reverse, !exclusive, exclusive)};
    });

}  // namespace

COHORT_OP("LinearScan")
    .inputs(2)
    .attr("axis", 0)
    .attr("reverse", false)
    .attr("shift", false)
    .attr("exclusive", false)
    .infer([](const OpCall& call) -> Specs {
      call.check(call.dtype(0) == call.dtype(1) && is_number(call.dtype(0)), "a and b must hold numbers of one type",
                 {{"a.dtype", call.dtype(0)}, {"b.dtype", call.dtype(1)}});
      call.check(call.shape(0).compatible(call.shape(1)), "a and b must have one shape",
                 {{"a.shape", call.shape(0)}, {"b.shape", call.shape(1)}});
      call.check(!(call.attr<bool>("shift") && call.attr<bool>("exclusive")), "shift and exclusive exclude each other");
      normalize_axis(call.attr<int>("axis"), call.rank(0), call.name());
      return same_as(call.spec(1));
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      const Tensor &a = call.input(0), &b = call.input(1), &s = call.output(0);
      const int axis = call.attr<int>("axis");
      const bool reverse = call.attr<bool>("reverse");
      if (call.attr<bool>("exclusive")) {
        const Tensor back = scan(a, dy, axis, !reverse, false, true);
        return {back * s, back};
      }
      if (call.attr<bool>("shift")) {
        return {scan(a, dy, axis, !reverse, false, true) * s, scan(a, dy, axis, !reverse, false, false)};
      }
      const Tensor back = scan(a, dy, axis, !reverse, true, false);
      return {back * scan(a, b, axis, reverse, false, true), back};
    });

namespace {
Tensor running(const char* op, const Tensor& x, std::optional<int> axis, const CumulativeOptions& options) {
  const Tensor summed = cast(x, options.dtype.value_or(x.dtype() == DType::Bool ? DType::Int32 : x.dtype()));
  return run_op(op, {axis ? summed : ravel(summed)},
                {{"axis", axis.value_or(0)}, {"exclusive", options.exclusive}, {"reverse", options.reverse}});
}
}  // namespace

Tensor cumsum(const Tensor& x, std::optional<int> axis, const CumulativeOptions& options) {
  return running("Cumsum", x, axis, options);
}
Tensor cumprod(const Tensor& x, std::optional<int> axis, const CumulativeOptions& options) {
  return running("Cumprod", x, axis, options);
}

Tensor diff(const Tensor& a, int n, int axis) {
  constexpr std::int64_t kMostTimes = 1000;
  const auto along = static_cast<std::size_t>(normalize_axis(axis, a.rank(), "diff"));
  const std::int64_t size = a.shape()[static_cast<int>(along)];
  // What is empty stays so.
  const std::int64_t times = size == kUnknown ? n : std::min<std::int64_t>(n, size);
  if (n < 0 || times > kMostTimes) {
    throw invalid_argument("diff", "n must be between 0 and 1000", {{"n", n}, {"a.shape", a.shape()}});
  }
  std::vector<SliceSpec> later(static_cast<std::size_t>(a.rank())), earlier = later;
  later[along].begin = 1;
  earlier[along].end = -1;
  Tensor x = a;
  for (std::int64_t i = 0; i < times; ++i) x = strided_slice(x, later) - strided_slice(x, earlier);
  return x;
}

Tensor linear_scan(const Tensor& a, const Tensor& b, int axis, bool reverse) {
  return scan(a, b, axis, reverse, false, false);
}

}  // namespace cohort::ops
