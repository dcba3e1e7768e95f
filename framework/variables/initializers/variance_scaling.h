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
  std::optional<std::vector<std::int64_t>> input_axes = std::nullopt;
  std::optional<std::vector<std::int64_t>> output_axes = std::nullopt;
};

struct VarianceScalingOptions {
  double scale = 1.0;
  std::string mode = "fan_in";                    // "fan_in", "fan_out", "fan_avg"
  std::string distribution = "truncated_normal";  // "uniform", "truncated_normal" or "normal", "untruncated_normal"
  std::optional<std::int64_t> seed = std::nullopt;
  std::optional<std::vector<std::int64_t>> input_axes = std::nullopt;
  std::optional<std::vector<std::int64_t>> output_axes = std::nullopt;
};

// Random numbers whose variance falls with the number of units that meet in a weight.
class VarianceScalingInitializer : public RandomInitializer {
 public:
  explicit VarianceScalingInitializer(VarianceScalingOptions options = {});
  std::string class_name() const override { return "VarianceScaling"; }
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
  NamedScalingInitializer(const char* class_name, double scale, const char* mode, const char* distribution,
                          FanOptions options);
  std::string class_name() const override { return class_name_; }
  void visit_fields(FieldVisitor& visitor) override;

 private:
  const char* class_name_;
};

struct VarianceScaling : Ref<VarianceScalingInitializer> {
  explicit VarianceScaling(VarianceScalingOptions options = {});
};
struct GlorotUniform : Ref<NamedScalingInitializer> {
  explicit GlorotUniform(FanOptions options = {});
};
struct GlorotNormal : Ref<NamedScalingInitializer> {
  explicit GlorotNormal(FanOptions options = {});
};
struct HeUniform : Ref<NamedScalingInitializer> {
  explicit HeUniform(FanOptions options = {});
};
struct HeNormal : Ref<NamedScalingInitializer> {
  explicit HeNormal(FanOptions options = {});
};
struct LecunUniform : Ref<NamedScalingInitializer> {
  explicit LecunUniform(FanOptions options = {});
};
struct LecunNormal : Ref<NamedScalingInitializer> {
  explicit LecunNormal(FanOptions options = {});
};

}  // namespace cohort::initializers
