#pragma once

#include <cstdint>
#include <vector>

#include "cohort/variables/constraint.h"

namespace cohort::constraints {

// The axes a norm runs over; Keras writes a single one as a number.
using NormAxes = std::vector<std::int64_t>;

class MaxNormConstraint : public Constraint {
 public:
  explicit MaxNormConstraint(double max_value = 2.0, NormAxes axis = {0});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor operator()(const Tensor& weight) const override;

 private:
  double max_value_;
  NormAxes axis_;
};

class UnitNormConstraint : public Constraint {
 public:
  explicit UnitNormConstraint(NormAxes axis = {0});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor operator()(const Tensor& weight) const override;

 private:
  NormAxes axis_;
};

struct MinMaxNormOptions {
  // Shortest length allowed.
  double min_value = 0.0;
  // Longest length allowed.
  double max_value = 1.0;
  // Share of the way to the allowed range that is gone after each update, in [0, 1].
  double rate = 1.0;
  // Axes along which the length is measured: {0} for a dense kernel (inputs, units), {0, 1, 2} for a Conv2D's.
  NormAxes axis = {0};
};
COHORT_FIELDS(MinMaxNormOptions, min_value, max_value, rate, axis)

class MinMaxNormConstraint : public Constraint {
 public:
  explicit MinMaxNormConstraint(MinMaxNormOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor operator()(const Tensor& weight) const override;

 private:
  MinMaxNormOptions options_;
};

// Shrinks vectors of a weight that are longer than `max_value`.
//   max_value: longest length allowed.
//   axis: axes along which the length is measured: {0} for a dense kernel (inputs, units), {0, 1, 2} for a Conv2D's.
struct MaxNorm : Ref<MaxNormConstraint> {
  explicit MaxNorm(double max_value = 2.0, NormAxes axis = {0});
};
// Brings every vector of a weight to length 1.
//   axis: axes along which the length is measured: {0} for a dense kernel (inputs, units), {0, 1, 2} for a Conv2D's.
struct UnitNorm : Ref<UnitNormConstraint> {
  explicit UnitNorm(NormAxes axis = {0});
};
// Moves the length of every vector of a weight towards [min_value, max_value], at once when `rate` is 1.
struct MinMaxNorm : Ref<MinMaxNormConstraint> {
  explicit MinMaxNorm(MinMaxNormOptions options = {});
};

}  // namespace cohort::constraints
