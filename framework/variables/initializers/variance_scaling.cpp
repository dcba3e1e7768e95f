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
  visit_options(options_, visitor);
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
  const auto values = [&](Numbers numbers, double scale, double shift) {
    return from_floats(random_values(shape, seed_, numbers, scale, shift), dtype);
  };
  if (options_.distribution == "uniform") {
    const double limit = std::sqrt(3.0 * variance);
    return values(Numbers::Uniform, 2.0 * limit, -limit);
  }
  const double deviation = std::sqrt(variance);
  return options_.distribution == "truncated_normal"
             ? values(Numbers::TruncatedNormal, deviation / kTruncatedDeviation, 0.0)
             : values(Numbers::Normal, deviation, 0.0);
}

NamedScalingInitializer::NamedScalingInitializer(double scale, const char* mode, const char* distribution,
                                                 FanOptions options)
    : VarianceScalingInitializer({scale, mode, distribution, options.seed, options.input_axes, options.output_axes}) {}

void NamedScalingInitializer::visit_fields(FieldVisitor& visitor) {
  RandomInitializer::visit_fields(visitor);
  visit_axes(visitor);
}

namespace {

struct GlorotUniformInitializer : NamedScalingInitializer {
  explicit GlorotUniformInitializer(FanOptions options = {})
      : NamedScalingInitializer(1.0, "fan_avg", "uniform", std::move(options)) {}
};
struct GlorotNormalInitializer : NamedScalingInitializer {
  explicit GlorotNormalInitializer(FanOptions options = {})
      : NamedScalingInitializer(1.0, "fan_avg", "truncated_normal", std::move(options)) {}
};
struct HeUniformInitializer : NamedScalingInitializer {
  explicit HeUniformInitializer(FanOptions options = {})
      : NamedScalingInitializer(2.0, "fan_in", "uniform", std::move(options)) {}
};
struct HeNormalInitializer : NamedScalingInitializer {
  explicit HeNormalInitializer(FanOptions options = {})
      : NamedScalingInitializer(2.0, "fan_in", "truncated_normal", std::move(options)) {}
};
struct LecunUniformInitializer : NamedScalingInitializer {
  explicit LecunUniformInitializer(FanOptions options = {})
      : NamedScalingInitializer(1.0, "fan_in", "uniform", std::move(options)) {}
};
struct LecunNormalInitializer : NamedScalingInitializer {
  explicit LecunNormalInitializer(FanOptions options = {})
      : NamedScalingInitializer(1.0, "fan_in", "truncated_normal", std::move(options)) {}
};

COHORT_REGISTER(Initializer, VarianceScalingInitializer, "VarianceScaling", "variance_scaling");
COHORT_REGISTER(Initializer, GlorotUniformInitializer, "GlorotUniform", "glorot_uniform");
COHORT_REGISTER(Initializer, GlorotNormalInitializer, "GlorotNormal", "glorot_normal");
COHORT_REGISTER(Initializer, HeUniformInitializer, "HeUniform", "he_uniform");
COHORT_REGISTER(Initializer, HeNormalInitializer, "HeNormal", "he_normal");
COHORT_REGISTER(Initializer, LecunUniformInitializer, "LecunUniform", "lecun_uniform");
COHORT_REGISTER(Initializer, LecunNormalInitializer, "LecunNormal", "lecun_normal");

}  // namespace

VarianceScaling::VarianceScaling(VarianceScalingOptions options)
    : Ref(std::make_shared<VarianceScalingInitializer>(std::move(options))) {}
GlorotUniform::GlorotUniform(FanOptions options)
    : Ref(std::make_shared<GlorotUniformInitializer>(std::move(options))) {}
GlorotNormal::GlorotNormal(FanOptions options) : Ref(std::make_shared<GlorotNormalInitializer>(std::move(options))) {}
HeUniform::HeUniform(FanOptions options) : Ref(std::make_shared<HeUniformInitializer>(std::move(options))) {}
HeNormal::HeNormal(FanOptions options) : Ref(std::make_shared<HeNormalInitializer>(std::move(options))) {}
LecunUniform::LecunUniform(FanOptions options) : Ref(std::make_shared<LecunUniformInitializer>(std::move(options))) {}
LecunNormal::LecunNormal(FanOptions options) : Ref(std::make_shared<LecunNormalInitializer>(std::move(options))) {}

}  // namespace cohort::initializers
