#pragma once

#include <cstdint>
#include <vector>

#include "cohort/variables/constraint.h"

namespace cohort::constraints {

// The axes a norm runs over; Keras writes a single one as a number.
using NormAxes = std::vector<std::int64_t>;

// Shrinks vectors that are longer than `max_value`.
class MaxNormConstraint : public Constraint {
 public:
  explicit MaxNormConstraint(double max_value = 2.0, NormAxes axis = {0});
  std::string class_name() const override { return "MaxNorm"; }
  void visit_fields(FieldVisitor& visitor) override;
  Tensor operator()(const Tensor& weight) const override;

 private:
  double max_value_;
  NormAxes axis_;
};

// Brings every vector to length 1.
class UnitNormConstraint : public Constraint {
 public:
  explicit UnitNormConstraint(NormAxes axis = {0});
  std::string class_name() const override { return "UnitNorm"; }
  void visit_fields(FieldVisitor& visitor) override;
  Tensor operator()(const Tensor& weight) const override;

 private:
  NormAxes axis_;
};

struct MinMaxNormOptions {
  double min_value = 0.0;
  double max_value = 1.0;
  double rate = 1.0;
  NormAxes axis = {0};
};

// Moves the length of every vector towards [min_value, max_value], at once when `rate` is 1.
class MinMaxNormConstraint : public Constraint {
 public:
  explicit MinMaxNormConstraint(MinMaxNormOptions options = {});
  std::string class_name() const override { return "MinMaxNorm"; }
  void visit_fields(FieldVisitor& visitor) override;
  Tensor operator()(const Tensor& weight) const override;

 private:
  MinMaxNormOptions options_;
};

struct MaxNorm : Ref<MaxNormConstraint> {
  explicit MaxNorm(double max_value = 2.0, NormAxes axis = {0})
      : Ref(std::make_shared<MaxNormConstraint>(max_value, std::move(axis))) {}
};
struct UnitNorm : Ref<UnitNormConstraint> {
  explicit UnitNorm(NormAxes axis = {0}) : Ref(std::make_shared<UnitNormConstraint>(std::move(axis))) {}
};
struct MinMaxNorm : Ref<MinMaxNormConstraint> {
  explicit MinMaxNorm(MinMaxNormOptions options = {})
      : Ref(std::make_shared<MinMaxNormConstraint>(std::move(options))) {}
};

}  // namespace cohort::constraints
