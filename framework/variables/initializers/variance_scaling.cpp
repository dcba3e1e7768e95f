#include "cohort/variables/initializers/variance_scaling.h"

#include <algorithm>
#include <cmath>

#include "cohort/variables/initializers/host_values.h"

namespace cohort::initializers {
namespace {

// The standard deviation that is left of 1 after cutting a normal distribution at two deviations.
constexpr double kTruncatedDeviation = 0.87962566103423978;

std::int64_t product(const Shape& shape, const std::vector<std::int64_t>& axes) {
  std::int64_t size = 1;
  for (std::int64_t axis : axes) size *= shape.dim(static_cast<int>(axis));
  return size;
}

}  // namespace

std::pair<std::int64_t, std::int64_t> compute_fans(const Shape& shape,
                                                   const std::optional<std::vector<std::int64_t>>& input_axes,
                                                   const std::optional<std::vector<std::int64_t>>& output_axes) {
  if (input_axes && output_axes) return {product(shape, *input_axes), product(shape, *output_axes)};
  if (shape.rank() == 0) return {1, 1};
  if (shape.rank() == 1) return {shape[0], shape[0]};
  const std::int64_t window = shape.slice(0, shape.rank() - 2).num_elements();
  return {shape.dim(-2) * window, shape.dim(-1) * window};
}

VarianceScalingInitializer::VarianceScalingInitializer(VarianceScalingOptions options)
    : RandomInitializer(options.seed), options_(std::move(options)) {
  VarianceScalingInitializer::fields_changed();
}

void VarianceScalingInitializer::visit_axes(FieldVisitor& visitor) {
  visitor.field("input_axes", options_.input_axes);
  visitor.field("output_axes", options_.output_axes);
}

void VarianceScalingInitializer::visit_fields(FieldVisitor& visitor) {
  RandomInitializer::visit_fields(visitor);
  visitor.field("scale", options_.scale);
  visitor.field("mode", options_.mode);
  visitor.field("distribution", options_.distribution);
  visit_axes(visitor);
}

void VarianceScalingInitializer::fields_changed() {
  if (!(options_.scale > 0.0)) {
    throw invalid_argument(class_name(), "scale must be positive", {{"scale", options_.scale}});
  }
  if (options_.mode != "fan_in" && options_.mode != "fan_out" && options_.mode != "fan_avg") {
    throw invalid_argument(class_name(), "mode must be 'fan_in', 'fan_out' or 'fan_avg'", {{"mode", options_.mode}});
  }
  if (options_.distribution == "normal") options_.distribution = "truncated_normal";
  if (options_.distribution != "uniform" && options_.distribution != "truncated_normal" &&
      options_.distribution != "untruncated_normal") {
    throw invalid_argument(class_name(), "distribution must be 'uniform', 'truncated_normal' or 'untruncated_normal'",
                           {{"distribution", options_.distribution}});
  }
}

Tensor VarianceScalingInitializer::operator()(const Shape& shape, DType dtype) const {
  const auto [fan_in, fan_out] = compute_fans(shape, options_.input_axes, options_.output_axes);
  const double fan = options_.mode == "fan_in"    ? static_cast<double>(fan_in)
                     : options_.mode == "fan_out" ? static_cast<double>(fan_out)
                                                  : static_cast<double>(fan_in + fan_out) / 2.0;
  const double variance = options_.scale / std::max(1.0, fan);
  std::vector<float> values;
  if (options_.distribution == "uniform") {
    const double limit = std::sqrt(3.0 * variance);
    values = random_values(shape, seed_, &NumberStream::uniform, 2.0 * limit, -limit);
  } else if (options_.distribution == "truncated_normal") {
    values = random_values(shape, seed_, &NumberStream::truncated_normal, std::sqrt(variance) / kTruncatedDeviation, 0);
  } else {
    values = random_values(shape, seed_, &NumberStream::normal, std::sqrt(variance), 0.0);
  }
  return from_floats(values, shape, dtype);
}

NamedScalingInitializer::NamedScalingInitializer(const char* class_name, double scale, const char* mode,
                                                 const char* distribution, FanOptions options)
    : VarianceScalingInitializer({scale, mode, distribution, options.seed, options.input_axes, options.output_axes}),
      class_name_(class_name) {}

void NamedScalingInitializer::visit_fields(FieldVisitor& visitor) {
  RandomInitializer::visit_fields(visitor);
  visit_axes(visitor);
}

namespace {

std::shared_ptr<NamedScalingInitializer> glorot_uniform(FanOptions options = {}) {
  return std::make_shared<NamedScalingInitializer>("GlorotUniform", 1.0, "fan_avg", "uniform", options);
}
std::shared_ptr<NamedScalingInitializer> glorot_normal(FanOptions options = {}) {
  return std::make_shared<NamedScalingInitializer>("GlorotNormal", 1.0, "fan_avg", "truncated_normal", options);
}
std::shared_ptr<NamedScalingInitializer> he_uniform(FanOptions options = {}) {
  return std::make_shared<NamedScalingInitializer>("HeUniform", 2.0, "fan_in", "uniform", options);
}
std::shared_ptr<NamedScalingInitializer> he_normal(FanOptions options = {}) {
  return std::make_shared<NamedScalingInitializer>("HeNormal", 2.0, "fan_in", "truncated_normal", options);
}
std::shared_ptr<NamedScalingInitializer> lecun_uniform(FanOptions options = {}) {
  return std::make_shared<NamedScalingInitializer>("LecunUniform", 1.0, "fan_in", "uniform", options);
}
std::shared_ptr<NamedScalingInitializer> lecun_normal(FanOptions options = {}) {
  return std::make_shared<NamedScalingInitializer>("LecunNormal", 1.0, "fan_in", "truncated_normal", options);
}

[[maybe_unused]] const bool variance_scaling_registered = [] {
  Registry<Initializer>& all = Initializer::registry();
  all.add("VarianceScaling", [] { return std::make_shared<VarianceScalingInitializer>(); }, {"variance_scaling"});
  all.add("GlorotUniform", [] { return glorot_uniform(); }, {"glorot_uniform"});
  all.add("GlorotNormal", [] { return glorot_normal(); }, {"glorot_normal"});
  all.add("HeUniform", [] { return he_uniform(); }, {"he_uniform"});
  all.add("HeNormal", [] { return he_normal(); }, {"he_normal"});
  all.add("LecunUniform", [] { return lecun_uniform(); }, {"lecun_uniform"});
  all.add("LecunNormal", [] { return lecun_normal(); }, {"lecun_normal"});
  return true;
}();

}  // namespace

VarianceScaling::VarianceScaling(VarianceScalingOptions options)
    : Ref(std::make_shared<VarianceScalingInitializer>(std::move(options))) {}
GlorotUniform::GlorotUniform(FanOptions options) : Ref(glorot_uniform(std::move(options))) {}
GlorotNormal::GlorotNormal(FanOptions options) : Ref(glorot_normal(std::move(options))) {}
HeUniform::HeUniform(FanOptions options) : Ref(he_uniform(std::move(options))) {}
HeNormal::HeNormal(FanOptions options) : Ref(he_normal(std::move(options))) {}
LecunUniform::LecunUniform(FanOptions options) : Ref(lecun_uniform(std::move(options))) {}
LecunNormal::LecunNormal(FanOptions options) : Ref(lecun_normal(std::move(options))) {}

}  // namespace cohort::initializers
