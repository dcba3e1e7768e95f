#pragma once

#include <cstdint>
#include <optional>

#include "cohort/variables/initializer.h"

namespace cohort::initializers {

// What the random initializers share: the same seed gives the same values on every call, no seed fresh ones.
class RandomInitializer : public Initializer {
 public:
  explicit RandomInitializer(std::optional<std::int64_t> seed) : seed_(seed) {}
  void visit_fields(FieldVisitor& visitor) override { visitor.field("seed", seed_); }

 protected:
  std::optional<std::int64_t> seed_;
};

// What RandomNormal and TruncatedNormal take.
struct NormalOptions {
  // Mean of the numbers.
  double mean = 0.0;
  // Standard deviation of the numbers, before any are drawn again.
  double stddev = 0.05;
  std::optional<std::int64_t> seed = std::nullopt;
};
COHORT_FIELDS(NormalOptions, mean, stddev)

class RandomNormalInitializer : public RandomInitializer {
 public:
  explicit RandomNormalInitializer(NormalOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor operator()(const Shape& shape, DType dtype) const override;

 protected:
  NormalOptions options_;
};

class TruncatedNormalInitializer : public RandomNormalInitializer {
 public:
  using RandomNormalInitializer::RandomNormalInitializer;
  Tensor operator()(const Shape& shape, DType dtype) const override;
};

// What RandomUniform takes.
struct UniformOptions {
  // Lower bound, included.
  double minval = -0.05;
  // Upper bound, excluded.
  double maxval = 0.05;
  std::optional<std::int64_t> seed = std::nullopt;
};
COHORT_FIELDS(UniformOptions, minval, maxval)

class RandomUniformInitializer : public RandomInitializer {
 public:
  explicit RandomUniformInitializer(UniformOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor operator()(const Shape& shape, DType dtype) const override;

 private:
  UniformOptions options_;
};

// Normally distributed numbers.
struct RandomNormal : Ref<RandomNormalInitializer> {
  explicit RandomNormal(NormalOptions options = {});
};
// Normally distributed numbers, drawn again where they fall more than two standard deviations from the mean.
struct TruncatedNormal : Ref<TruncatedNormalInitializer> {
  explicit TruncatedNormal(NormalOptions options = {});
};
// Uniformly distributed numbers.
struct RandomUniform : Ref<RandomUniformInitializer> {
  explicit RandomUniform(UniformOptions options = {});
};

}  // namespace cohort::initializers
