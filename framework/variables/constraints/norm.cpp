#include "cohort/variables/constraints/norm.h"

#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::constraints {
namespace {

constexpr double kEpsilon = 1e-7;  // keeps a zero vector from being divided by zero

Tensor norms(const Tensor& weight, const NormAxes& axes) {
  return ops::sqrt(ops::sum(ops::square(weight), axes, /*keep_dims=*/true));
}

}  // namespace

MaxNormConstraint::MaxNormConstraint(double max_value, NormAxes axis) : max_value_(max_value), axis_(std::move(axis)) {}

void MaxNormConstraint::visit_fields(FieldVisitor& visitor) {
  visitor.field("max_value", max_value_);
  visitor.field("axis", axis_);
}

Tensor MaxNormConstraint::operator()(const Tensor& weight) const {
  const Tensor length = norms(weight, axis_);
  return weight * (ops::clip(length, 0.0, max_value_) / (length + kEpsilon));
}

UnitNormConstraint::UnitNormConstraint(NormAxes axis) : axis_(std::move(axis)) {}

void UnitNormConstraint::visit_fields(FieldVisitor& visitor) { visitor.field("axis", axis_); }

Tensor UnitNormConstraint::operator()(const Tensor& weight) const { return weight / (norms(weight, axis_) + kEpsilon); }

MinMaxNormConstraint::MinMaxNormConstraint(MinMaxNormOptions options) : options_(std::move(options)) {}

void MinMaxNormConstraint::visit_fields(FieldVisitor& visitor) { visit_options(options_, visitor); }

Tensor MinMaxNormConstraint::operator()(const Tensor& weight) const {
  const Tensor length = norms(weight, options_.axis);
  const Tensor desired =
      ops::clip(length, options_.min_value, options_.max_value) * options_.rate + length * (1.0 - options_.rate);
  return weight * (desired / (length + kEpsilon));
}

COHORT_REGISTER(Constraint, MaxNormConstraint, "MaxNorm", "max_norm");
COHORT_REGISTER(Constraint, UnitNormConstraint, "UnitNorm", "unit_norm");
COHORT_REGISTER(Constraint, MinMaxNormConstraint, "MinMaxNorm", "min_max_norm");

MaxNorm::MaxNorm(double max_value, NormAxes axis)
    : Ref(std::make_shared<MaxNormConstraint>(max_value, std::move(axis))) {}
UnitNorm::UnitNorm(NormAxes axis) : Ref(std::make_shared<UnitNormConstraint>(std::move(axis))) {}
MinMaxNorm::MinMaxNorm(MinMaxNormOptions options) : Ref(std::make_shared<MinMaxNormConstraint>(std::move(options))) {}

}  // namespace cohort::constraints
