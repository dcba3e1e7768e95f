#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cohort/variables/initializers/random.h"

namespace cohort::initializers {

// How many inputs and outputs a unit of this weight has; the last two axes are (in, out), those before them a window.
std::pair<std::int64_t, std::int64_t> compute_fans(const Shape& shape,
                                                   const std::optional<std::vector<std::int64_t>>& input_axes = {},
                                                   const std::optional<std::vector<std::int64_t>>& output_axes = {});

// Which axes count as inputs and outputs; Keras's rule when left out.
struct FanOptions {
  std::optional<std::int64_t> seed = std::nullopt;
  // Axes that count as inputs, given together with output_axes; none: the last but one and the window before it.
  std::optional<std::vector<std::int64_t>> input_axes = std::nullopt;
  // Axes that count as outputs, given together with input_axes; none: the last one and the window.
  std::optional<std::vector<std::int64_t>> output_axes = std::nullopt;
};

struct VarianceScalingOptions {
  // Factor of the variance, above 0.
  double scale = 1.0;
  // What the variance is divided by: "fan_in" (inputs of a unit), "fan_out" (outputs) or "fan_avg" (their mean).
  std::string mode = "fan_in";
  // "truncated_normal" or "normal" (drawn again beyond two deviations), "untruncated_normal" or "uniform".
  std::string distribution = "truncated_normal";
  std::optional<std::int64_t> seed = std::nullopt;
  // Axes that count as inputs, given together with output_axes; none: the last but one and the window before it.
  std::optional<std::vector<std::int64_t>> input_axes = std::nullopt;
  // Axes that count as outputs, given together with input_axes; none: the last one and the window.
  std::optional<std::vector<std::int64_t>> output_axes = std::nullopt;
};
COHORT_FIELDS(VarianceScalingOptions, scale, mode, distribution)

class VarianceScalingInitializer : public RandomInitializer {
 public:
  explicit VarianceScalingInitializer(VarianceScalingOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor operator()(const Shape& shape, DType dtype) const override;

 protected:
  void visit_axes(FieldVisitor& visitor);
  VarianceScalingOptions options_;
};

// A member of the family with a name of its own: Glorot, He and Lecun fix scale, mode and distribution.
class NamedScalingInitializer : public VarianceScalingInitializer {
 public:
  NamedScalingInitializer(double scale, const char* mode, const char* distribution, FanOptions options);
  void visit_fields(FieldVisitor& visitor) override;
};

// Random numbers whose variance is scale / fan: it falls with the number of units that meet in a weight.
struct VarianceScaling : Ref<VarianceScalingInitializer> {
  explicit VarianceScaling(VarianceScalingOptions options = {});
};
// Uniform numbers in [-limit, limit] with limit = sqrt(6 / (inputs + outputs)); Xavier's initializer.
struct GlorotUniform : Ref<NamedScalingInitializer> {
  explicit GlorotUniform(FanOptions options = {});
};
// Truncated normal numbers of standard deviation sqrt(2 / (inputs + outputs)).
struct GlorotNormal : Ref<NamedScalingInitializer> {
  explicit GlorotNormal(FanOptions options = {});
};
// Uniform numbers in [-limit, limit] with limit = sqrt(6 / inputs), for layers with relu.
struct HeUniform : Ref<NamedScalingInitializer> {
  explicit HeUniform(FanOptions options = {});
};
// Truncated normal numbers of standard deviation sqrt(2 / inputs), for layers with relu.
struct HeNormal : Ref<NamedScalingInitializer> {
  explicit HeNormal(FanOptions options = {});
};
// Uniform numbers in [-limit, limit] with limit = sqrt(3 / inputs).
struct LecunUniform : Ref<NamedScalingInitializer> {
  explicit LecunUniform(FanOptions options = {});
};
// Truncated normal numbers of standard deviation sqrt(1 / inputs), for layers with selu.
struct LecunNormal : Ref<NamedScalingInitializer> {
  explicit LecunNormal(FanOptions options = {});
};

}  // namespace cohort::initializers
