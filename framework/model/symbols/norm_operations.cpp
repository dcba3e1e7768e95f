#include <cmath>

#include "cohort/model/symbols/operation_table.h"
#include "cohort/ops/array.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/epsilon.h"
#include "cohort/ops/linalg.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"
#include "cohort/ops/slicing.h"
#include "cohort/ops/sorting.h"

// Keras's operations that measure along axes and divide by what they find: norms, moments, normalizations, medians and
// reductions that leave out what is not a number.
namespace cohort::operations {
namespace {

ops::linalg::NormOrder order_of(const Attributes& config) {
  const AttributeValue* order = config.find("ord");
  if (!order) return {};
  if (std::holds_alternative<std::string>(*order)) return text_of(config, "ord");
  return number_of(config, "ord");
}

Element norm(const Arguments& a, const Attributes& config) {
  return Element(ops::linalg::norm(a[0].leaf(), order_of(config), axes_of(config), keeps_dims(config)));
}

Element normalized(const Arguments& a, const Attributes& config) {
  const Tensor& x = a[0].leaf();
  const Integers axes = integers_of(config, "axis", {-1});
  const double order = number_of(config, "order", 2.0), epsilon = number_of(config, "epsilon", kEpsilon);
  if (order == 2.0) return Element(x * ops::minimum(ops::rsqrt(ops::sum(ops::square(x), axes, true)), 1.0 / epsilon));
  return Element(x / ops::maximum(ops::linalg::norm(x, order, axes, true), epsilon));
}

// Scales along `axes` of x, which stand there in order.
Tensor along(const Tensor& scales, const Tensor& x, const Integers& axes) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(x.rank()), 1);
  for (const std::int64_t axis : axes) {
    const int at = normalize_axis(static_cast<int>(axis), x.rank(), "normalization");
    shape[static_cast<std::size_t>(at)] = x.shape()[at];
  }
  return scales.rank() == x.rank() ? scales : ops::reshape(scales, shape);
}

Element layer_normalized(const Arguments& a, const Attributes& config) {
  const DType dtype = a[0].leaf().dtype();
  const Tensor x = dtype == DType::Float64 ? a[0].leaf() : ops::cast(a[0].leaf(), DType::Float32);
  const Integers axes = integers_of(config, "axis", {-1});
  const double epsilon = number_of(config, "epsilon", kEpsilon);
  const Tensor gamma = optional_tensor(a[1]), beta = optional_tensor(a[2]);
  const bool rms = truth_of(config, "rms_scaling");
  Tensor result = (rms ? x : x - ops::mean(x, axes, true)) * ops::rsqrt(ops::variance(x, axes, true) + epsilon);
  if (gamma.defined()) result = result * along(ops::cast(gamma, x.dtype()), x, axes);
  if (beta.defined() && !rms) result = result + along(ops::cast(beta, x.dtype()), x, axes);
  return Element(ops::cast(result, dtype));
}

Element rms_normalized(const Arguments& a, const Attributes& config) {
  const DType dtype = a[0].leaf().dtype();
  const Tensor x = dtype == DType::Float64 ? a[0].leaf() : ops::cast(a[0].leaf(), DType::Float32);
  const Tensor mean = ops::mean(ops::square(x), integers_of(config, "axis", {-1}), true);
  Tensor result = x * ops::rsqrt(mean + number_of(config, "epsilon", kEpsilon));
  if (const Tensor scale = optional_tensor(a[1]); scale.defined()) result = result * ops::cast(scale, x.dtype());
  return Element(ops::cast(result, dtype));
}

Element batch_normalized(const Arguments& a, const Attributes& config) {
  const Tensor& x = a[0].leaf();
  const Integers axes = integers_of(config, "axis", {-1});
  const Tensor offset = optional_tensor(a[3]), scale = optional_tensor(a[4]);
  Tensor factor = ops::rsqrt(along(a[2].leaf(), x, axes) + number_of(config, "epsilon", 1e-3));
  if (scale.defined()) factor = factor * along(scale, x, axes);
  const Tensor result = (x - along(a[1].leaf(), x, axes)) * factor;
  return Element(offset.defined() ? result + along(offset, x, axes) : result);
}

Element median(const Arguments& a, const Attributes& config) {
  Tensor x = ops::to_floating(a[0].leaf());
  const int rank = x.rank();
  const Integers axes = axes_of(config);
  if (axes.size() > 1) throw unimplemented("Median", "one axis or none is expected", {{"axes", axes.size()}});
  if (axes.empty()) x = ops::reshape(x, {-1});
  const int axis = axes.empty() ? 0 : normalize_axis(static_cast<int>(axes[0]), rank, "Median");
  const std::int64_t size = x.shape()[axis];
  if (size < 1) throw unimplemented("Median", "an axis of a known size is expected", {{"x.shape", x.shape()}});
  const Tensor sorted = ops::sort(x, axis);
  Tensor middle = (ops::take_at(sorted, (size - 1) / 2, axis) + ops::take_at(sorted, size / 2, axis)) * 0.5;
  if (keeps_dims(config)) {
    for (int i = 0; i < (axes.empty() ? rank : 1); ++i) middle = ops::expand_dims(middle, axes.empty() ? 0 : axis);
  }
  return Element(middle);
}

Element average(const Arguments& a, const Attributes& config) {
  const Tensor x = ops::to_floating(a[0].leaf());
  Tensor weights = optional_tensor(a[1]);
  const Integers axes = axes_of(config);
  if (!weights.defined()) return Element(ops::mean(x, axes));
  weights = ops::cast(weights, x.dtype());
  if (weights.rank() == 1 && x.rank() > 1 && axes.size() == 1) weights = along(weights, x, axes);
  return Element(ops::sum(x * weights, axes) / ops::sum(ops::broadcast_like(weights, x), axes));
}

using OverAxes = Tensor (*)(const Tensor&, const ops::Axes&, bool);

void add_over_axes(const char* name, OverAxes function) {
  add_operation("numpy", name, {"x"}, {"axis", "keepdims"}, [function](const Arguments& a, const Attributes& config) {
    return Element(function(a[0].leaf(), axes_of(config), keeps_dims(config)));
  });
}

Tensor without_nan(const Tensor& x, double instead) {
  return ops::where(ops::is_nan(x), ops::full_like(x, instead), x);
}
Tensor numbers_in(const Tensor& x, const ops::Axes& axes, bool keep) {
  return ops::sum(ops::cast(ops::logical_not(ops::is_nan(x)), x.dtype()), axes, keep);
}

[[maybe_unused]] const bool norms_registered = [] {
  add_operation("linalg", "Norm", {"x"}, {"ord", "axis", "keepdims"}, norm);
  add_operation("nn", "Normalize", {"x"}, {"axis", "order", "epsilon"}, normalized);
  add_operation("nn", "LayerNorm", {"x", "gamma", "beta"}, {"axis", "epsilon", "rms_scaling"}, layer_normalized);
  add_operation("nn", "RMSNorm", {"x", "scale"}, {"axis", "epsilon"}, rms_normalized);
  add_operation("nn", "BatchNorm", {"x", "mean", "variance", "offset", "scale"}, {"axis", "epsilon"}, batch_normalized);
  add_operation("nn", "Moments", {"x"}, {"axes", "keepdims", "synchronized"},
                [](const Arguments& a, const Attributes& config) {
                  const Integers axes = integers_of(config, "axes");
                  const Tensor& x = a[0].leaf();
                  return tuple_of({ops::mean(x, axes, keeps_dims(config)), ops::variance(x, axes, keeps_dims(config))});
                });
  add_operation("numpy", "Median", {"x"}, {"axis", "keepdims"}, median);
  add_operation("numpy", "Average", {"x", "weights"}, {"axis"}, average);
  add_operation("numpy", "CountNonzero", {"x"}, {"axis"}, [](const Arguments& a, const Attributes& config) {
    return Element(ops::cast(ops::count_nonzero(a[0].leaf(), axes_of(config)), DType::Int32));
  });
  add_over_axes("Amax", ops::max);
  add_over_axes("Amin", ops::min);
  add_over_axes("Ptp", [](const Tensor& x, const ops::Axes& axes, bool keep) {
    return ops::max(x, axes, keep) - ops::min(x, axes, keep);
  });
  add_over_axes("Nansum", [](const Tensor& x, const ops::Axes& axes, bool keep) {
    return ops::sum(without_nan(x, 0.0), axes, keep);
  });
  add_over_axes("Nanprod", [](const Tensor& x, const ops::Axes& axes, bool keep) {
    return ops::prod(without_nan(x, 1.0), axes, keep);
  });
  add_over_axes("Nanmean", [](const Tensor& x, const ops::Axes& axes, bool keep) {
    return ops::sum(without_nan(x, 0.0), axes, keep) / numbers_in(x, axes, keep);
  });
  add_over_axes("Nanmax", [](const Tensor& x, const ops::Axes& axes, bool keep) {
    return ops::max(without_nan(x, -INFINITY), axes, keep);
  });
  add_over_axes("Nanmin", [](const Tensor& x, const ops::Axes& axes, bool keep) {
    return ops::min(without_nan(x, INFINITY), axes, keep);
  });
  return true;
}();

}  // namespace
}  // namespace cohort::operations
