#pragma once

#include "cohort/variables/constraint.h"

namespace cohort::constraints {

// Sets negative values to zero.
class NonNegConstraint : public Constraint {
 public:
  std::string class_name() const override { return "NonNeg"; }
  Tensor operator()(const Tensor& weight) const override;
};

struct NonNeg : Ref<NonNegConstraint> {
  NonNeg() : Ref(std::make_shared<NonNegConstraint>()) {}
};

}  // namespace cohort::constraints
