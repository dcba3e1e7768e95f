#include "cohort/variables/constraints/non_neg.h"

#include "cohort/ops/math.h"

namespace cohort::constraints {

Tensor NonNegConstraint::operator()(const Tensor& weight) const { return ops::maximum(weight, 0.0); }

namespace {

[[maybe_unused]] const bool non_neg_registered =
    Constraint::registry().add("NonNeg", [] { return std::make_shared<NonNegConstraint>(); }, {"non_neg"});

}  // namespace
}  // namespace cohort::constraints
