#include "cohort/variables/constraints/non_neg.h"

#include "cohort/ops/math.h"

namespace cohort::constraints {

Tensor NonNegConstraint::operator()(const Tensor& weight) const { return ops::maximum(weight, 0.0); }

COHORT_REGISTER(Constraint, NonNegConstraint, "NonNeg", "non_neg");

NonNeg::NonNeg() : Ref(std::make_shared<NonNegConstraint>()) {}

}  // namespace cohort::constraints
