#pragma once

#include "cohort/variables/constraint.h"

namespace cohort::constraints {

class NonNegConstraint : public Constraint {
 public:
  Tensor operator()(const Tensor& weight) const override;
};

// Sets the negative elements of a weight to zero.
struct NonNeg : Ref<NonNegConstraint> {
  NonNeg();
};

}  // namespace cohort::constraints
