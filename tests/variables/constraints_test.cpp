#include "cohort/variables/constraints.h"

#include <gtest/gtest.h>

#include "cohort/saving/config_json.h"
#include "tests/support/op_check.h"

namespace cohort::constraints {
namespace {

// Columns of length 5 and 1.
Tensor weight() { return Tensor::of<float>({3, 0, 4, 1}, {2, 2}); }

TEST(Constraints, NormsAreBroughtIntoTheirBounds) {
  test::expect_values((*MaxNorm(2.0))(weight()), {1.2, 0, 1.6, 1}, 1e-5);
  test::expect_values((*UnitNorm())(weight()), {0.6, 0, 0.8, 1}, 1e-5);
  test::expect_values((*MinMaxNorm({.min_value = 2.0, .max_value = 4.0}))(weight()), {2.4, 0, 3.2, 2}, 1e-5);
  test::expect_values((*MinMaxNorm({.min_value = 2.0, .max_value = 4.0, .rate = 0.5}))(weight()), {2.7, 0, 3.6, 1.5},
                      1e-5);
  test::expect_values((*MaxNorm(1.0, {0, 1}))(Tensor::of<float>({3, 0, 4, 0}, {2, 2})), {0.6, 0, 0.8, 0}, 1e-5);
}

TEST(Constraints, NegativeValuesBecomeZero) {
  test::expect_values((*Ref<Constraint>("non_neg"))(Tensor::of<float>({-1, 2}, {2})), {0, 2}, 0);
}

TEST(Constraints, ConfigsAreRead) {
  MaxNormConstraint read;
  from_json(read, R"({"max_value": 1.0, "axis": [0, 1]})");
  from_json(read, R"({"max_value": 2, "axis": 0})");
  test::expect_values(read(weight()), {1.2, 0, 1.6, 1}, 1e-5);
}

}  // namespace
}  // namespace cohort::constraints
